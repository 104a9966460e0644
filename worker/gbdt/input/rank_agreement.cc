#include "worker/gbdt/input/rank_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/human_text.h"
#include "worker/gbdt/data/divided_rows.h"

namespace strata {
namespace {

// What may differ from rank to rank: where its files lie. Seeds are agreed on.
bool MayDiffer(std::string_view name) {
  constexpr std::string_view kNames[] = {"data",         "valid",         "input_model",
                                         "output_model", "output_result", "verbosity"};
  return std::ranges::count(kNames, name) > 0 || name.ends_with("seed");
}

// What a job file says of columns, where there is one.
void DescribeColumns(const DataSpec& columns, std::map<std::string, std::string>* settings) {
  const CsvFormat& format = columns.format;
  std::map<std::string, std::string>& all = *settings;
  all["data.delimiter"] = fmt::format("\'{}\'", format.delimiter);
  all["data.header"] = fmt::format("{}", format.header);
  all["data.columns"] = fmt::format("{}", fmt::join(format.columns, ","));
  all["data.missing"] = fmt::format("{}", fmt::join(format.missing, ","));
  all["data.trim"] = fmt::format("{}", format.trim);
  all["data.comment"] = fmt::format("{}", format.comment);
  all["data.label"] = fmt::format("{}", columns.label);
  all["data.label_positive"] = fmt::format("{}", fmt::join(columns.label_positive, ","));
  all["data.label_negative"] = fmt::format("{}", fmt::join(columns.label_negative, ","));
  all["data.weight"] = fmt::format("{}", columns.weight);
  all["data.query"] = fmt::format("{}", columns.query);
  for (size_t i = 0; i < columns.features.size(); ++i) {
    const FeatureSpec& feature = columns.features[i];
    all[fmt::format("feature {}", i)] =
        fmt::format("{}, {}", feature.column, FeatureKindName(feature.kind));
  }
}

// What is set, by name. Names of columns are not in `set`, as LightGBM's model files cannot hold
// them.
std::map<std::string, std::string> Describe(const TreeParameters& p) {
  std::map<std::string, std::string> settings;
  for (const auto& [name, value] : p.set) {
    if (!MayDiffer(name)) settings[name] = value;
  }
  settings["number of valid"] = fmt::format("{}", p.data.valid.size());
  settings["pre_partition"] = fmt::format("{}", p.machine.pre_partition);
  settings["tree_learner"] = p.machine.tree_learner;
  settings["input_model"] = p.task.input_model.empty() ? "none" : "given";
  settings["label_column"] = p.data.label_column;
  settings["weight_column"] = p.data.weight_column;
  settings["group_column"] = p.data.group_column;
  settings["ignore_column"] = fmt::format("{}", fmt::join(p.data.ignore_column, ","));
  settings["categorical_feature"] = fmt::format("{}", fmt::join(p.data.categorical_feature, ","));
  if (p.data.columns.has_value()) DescribeColumns(*p.data.columns, &settings);
  return settings;
}

// Lines "name = value"; a name holds no '='.
std::string TextOf(const std::map<std::string, std::string>& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += fmt::format("{} = {}\n", name, value);
  return text;
}

std::map<std::string, std::string> SettingsOf(std::string_view text) {
  std::map<std::string, std::string> settings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t equals = line.find(" = ");
    if (equals == line.npos) continue;
    settings.emplace(line.substr(0, equals), line.substr(equals + 3));
  }
  return settings;
}

// "max_bin = 10", or that it is not set.
std::string Shown(const std::map<std::string, std::string>& settings, const std::string& name) {
  const auto found = settings.find(name);
  if (found == settings.end()) return fmt::format("no {}", name);
  return fmt::format("'{} = {}'", name, ShownBytes(found->second));
}

// The first name whose values differ; "": none do.
std::string FirstDifference(const std::map<std::string, std::string>& a,
                            const std::map<std::string, std::string>& b) {
  std::map<std::string, std::string> all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [name, value] : all) {
    if (Shown(a, name) != Shown(b, name)) return name;
  }
  return "";
}

}  // namespace

Status AgreeOnParameters(Group& group, TreeParameters* p) {
  const std::string mine = TextOf(Describe(*p));
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(std::span(mine)), &all));
  const auto settings_of = [&](size_t rank) {
    return SettingsOf({reinterpret_cast<const char*>(all[rank].data()), all[rank].size()});
  };
  const std::map<std::string, std::string> first = settings_of(0);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const std::map<std::string, std::string> other = settings_of(rank);
    const std::string name = FirstDifference(first, other);
    if (name.empty()) continue;
    return FailTogether(
        group,
        Invalid(fmt::format(
            "the ranks do not train the same model: rank 0 has {}, rank {} has {}: give all of "
            "them the same configuration",
            Shown(first, name), rank, Shown(other, name))));
  }
  std::array<int64_t*, 7> seeds = {&p->data.data_random_seed,
                                   &p->boosting.bagging_seed,
                                   &p->boosting.drop_seed,
                                   &p->growth.feature_fraction_seed,
                                   &p->objective.objective_seed,
                                   &p->growth.extra_seed,
                                   &p->seed};
  std::array<int64_t, 8> values = {};
  for (size_t i = 0; i < seeds.size(); ++i) values[i] = *seeds[i];
  STRATA_TRY(group.Allreduce(std::span<int64_t>(values), ReduceOp::kMin));
  for (size_t i = 0; i < seeds.size(); ++i) *seeds[i] = values[i];
  return {};
}

Status AgreeOnRows(Group& group, const TreeDataset& data) {
  STRATA_TRY(AgreeOnNumber(group, "the number of rows", data.rows()));
  uint64_t hash = 0;
  for (const float label : data.labels) hash = Mix64(hash + std::bit_cast<uint32_t>(label));
  for (const float weight : data.weights) hash = Mix64(hash + std::bit_cast<uint32_t>(weight));
  STRATA_TRY(AgreeOnNumber(group, "a hash of all labels and weights", hash));
  return AgreeOnColumns(group, data.path, data.features->names);
}

}  // namespace strata
