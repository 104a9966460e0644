#include "worker/gbdt/rank_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
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
void DescribeColumns(const DataSpec& columns, std::vector<std::string>* lines) {
  const CsvFormat& format = columns.format;
  lines->push_back(fmt::format("data.delimiter = '{}'\n", format.delimiter));
  lines->push_back(fmt::format("data.header = {}\n", format.header));
  lines->push_back(fmt::format("data.columns = {}\n", fmt::join(format.columns, ",")));
  lines->push_back(fmt::format("data.missing = {}\n", fmt::join(format.missing, ",")));
  lines->push_back(fmt::format("data.trim = {}\n", format.trim));
  lines->push_back(fmt::format("data.comment = {}\n", format.comment));
  lines->push_back(fmt::format("data.label = {}\n", columns.label));
  lines->push_back(
      fmt::format("data.label_positive = {}\n", fmt::join(columns.label_positive, ",")));
  lines->push_back(
      fmt::format("data.label_negative = {}\n", fmt::join(columns.label_negative, ",")));
  lines->push_back(fmt::format("data.weight = {}\n", columns.weight));
  lines->push_back(fmt::format("data.query = {}\n", columns.query));
  for (size_t i = 0; i < columns.features.size(); ++i) {
    const FeatureSpec& feature = columns.features[i];
    lines->push_back(
        fmt::format("feature {} = {}, {}\n", i, feature.column, FeatureKindName(feature.kind)));
  }
}

// One parameter a line, by name.
std::string Describe(const TreeParameters& parameters) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : parameters.set) {
    if (!MayDiffer(name)) lines.push_back(fmt::format("{} = {}\n", name, value));
  }
  lines.push_back(fmt::format("number of valid = {}\n", parameters.valid.size()));
  lines.push_back(fmt::format("pre_partition = {}\n", parameters.pre_partition));
  lines.push_back(fmt::format("tree_learner = {}\n", parameters.tree_learner));
  if (parameters.columns.has_value()) DescribeColumns(*parameters.columns, &lines);
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string_view FirstLine(std::string_view text) {
  return text.empty() ? "nothing" : text.substr(0, text.find('\n'));
}

// Where two texts of whole lines begin to differ: the lines there.
std::pair<std::string_view, std::string_view> FirstDifference(std::string_view a,
                                                              std::string_view b) {
  const auto [at_a, at_b] = std::ranges::mismatch(a, b);
  const auto same = static_cast<size_t>(at_a - a.begin());
  const size_t newline = same == 0 ? std::string_view::npos : a.rfind('\n', same - 1);
  const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  return {FirstLine(a.substr(line)), FirstLine(b.substr(line))};
}

}  // namespace

Status AgreeOnParameters(Group& group, TreeParameters* p) {
  const std::string mine = Describe(*p);
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(std::span(mine)), &all));
  const auto text_of = [&](size_t rank) {
    return std::string_view(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
  };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (text_of(rank) == text_of(0)) continue;
    const auto [first, other] = FirstDifference(text_of(0), text_of(rank));
    return FailTogether(
        group,
        Invalid(fmt::format(
            "the ranks do not train the same model: rank 0 has '{}', rank {} has '{}': give all of "
            "them the same configuration",
            first, rank, other)));
  }
  std::array<int64_t*, 7> seeds = {
      &p->data_random_seed, &p->bagging_seed, &p->drop_seed, &p->feature_fraction_seed,
      &p->objective_seed,   &p->extra_seed,   &p->seed};
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
