#include "worker/tree_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <type_traits>

#include "worker/gbdt/parameter_table.h"

namespace strata {
namespace {

constexpr std::string_view kSection = "gbdt.";

// What the sections [job], [data], [[feature]] and [output], the command line and cluster.toml say,
// and save_binary, whose files hold no texts.
constexpr std::string_view kElsewhere[] = {"task",
                                           "data",
                                           "valid",
                                           "output_model",
                                           "output_result",
                                           "header",
                                           "label_column",
                                           "weight_column",
                                           "group_column",
                                           "ignore_column",
                                           "categorical_feature",
                                           "seed",
                                           "num_machines",
                                           "machines",
                                           "machine_list_filename",
                                           "local_listen_port",
                                           "time_out",
                                           "pre_partition",
                                           "save_binary"};

// Parameters that name files.
constexpr std::string_view kPaths[] = {"input_model", "convert_model", "forcedsplits_filename",
                                       "report_file"};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::count(names, name) > 0;
}

// The default of a member, as a job file would say it.
template <typename T>
std::string DefaultText(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", value);
  } else {
    return fmt::format("{}", fmt::join(value, ","));
  }
}

template <typename T>
constexpr SettingType TypeOf() {
  if constexpr (std::is_same_v<T, std::string>) return SettingType::kText;
  if constexpr (std::is_same_v<T, bool>) return SettingType::kBool;
  if constexpr (std::is_integral_v<T>) return SettingType::kInt;
  if constexpr (std::is_floating_point_v<T>) return SettingType::kFloat;
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) return SettingType::kIntList;
  return SettingType::kTextList;  // of real numbers too
}

// Calls `use` with the member's value in parameters that nobody has set.
template <typename Use>
void WithDefault(const ParameterTarget& target, const Use& use) {
  static const TreeParameters defaults;
  std::visit(
      [&]<typename Class, typename T>(T Class::*member) {
        if constexpr (std::is_same_v<Class, SplitRules>) {
          use(defaults.rules.*member);
        } else if constexpr (std::is_same_v<Class, BinningRules>) {
          use(defaults.binning.*member);
        } else {
          use(defaults.*member);
        }
      },
      target);
}

Setting SettingOf(const ParameterRow& row, std::deque<std::string>* texts) {
  const auto keep = [texts](std::string text) -> std::string_view {
    return texts->emplace_back(std::move(text));
  };
  Setting setting = {.key = keep(fmt::format("{}{}", kSection, row.name)), .help = row.help};
  WithDefault(row.target, [&]<typename T>(const T& value) {
    setting.type = TypeOf<T>();
    setting.default_value = keep(DefaultText(value));
  });
  const bool bounded = setting.type == SettingType::kInt || setting.type == SettingType::kFloat ||
                       setting.type == SettingType::kIntList;
  if (bounded) {
    setting.min = row.min;
    setting.max = row.max;
  }
  // Values of `objective` have other names too.
  if (row.name == "objective") {
    std::string names(row.choices);
    for (size_t at = 0; (at = names.find('|', at)) != std::string::npos; at += 2) {
      names.replace(at, 1, ", ");
    }
    setting.help =
        keep(fmt::format("{} One of {}, or another of LightGBM's names.", row.help, names));
  } else if (!row.choices.empty()) {
    setting.type = SettingType::kChoice;
    setting.choices = row.choices;
  }
  return setting;
}

std::string ValueText(const Settings& settings, const Setting& row) {
  switch (row.type) {
    case SettingType::kBool:
      return DefaultText(settings.Bool(row.key));
    case SettingType::kInt:
      return DefaultText(settings.Int(row.key));
    case SettingType::kFloat:
      return DefaultText(settings.Float(row.key));
    case SettingType::kIntList:
      return DefaultText(settings.IntList(row.key));
    case SettingType::kTextList:
      return DefaultText(settings.TextList(row.key));
    default:
      return settings.Text(row.key);
  }
}

Status WithoutEffect(const std::string& where, std::string_view key) {
  return Invalid(
      fmt::format("{}: {} has no effect on model.kind = \"gbdt\": remove it", where, key));
}

// Sections of other kinds of models.
Status CheckSections(const Settings& settings) {
  constexpr std::string_view kOthers[] = {"model.", "sparse.", "dense.", "train.", "checkpoint."};
  for (const Setting& row : JobSettingsTable().settings) {
    const bool other = std::ranges::any_of(
        kOthers, [&](std::string_view section) { return row.key.starts_with(section); });
    if (other && row.key != "model.kind" && settings.IsSet(row.key)) {
      return WithoutEffect(settings.Origin(row.key), row.key);
    }
  }
  for (const Settings& feature : settings.Repeated("feature")) {
    if (feature.IsSet("transforms")) {
      return WithoutEffect(feature.Origin("transforms"), "feature.transforms");
    }
    if (feature.Text("kind") == "bucketised") {
      return Invalid(fmt::format(
          "{}: feature.kind = \"bucketised\": trees find boundaries themselves; use \"numeric\"",
          feature.Origin("kind")));
    }
  }
  return {};
}

}  // namespace

const std::vector<Setting>& TreeSettings() {
  static std::deque<std::string> texts;
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> all;
    for (const ParameterRow& row : ParameterRows()) {
      if (!Contains(kElsewhere, row.name)) all.push_back(SettingOf(row, &texts));
    }
    return all;
  }();
  return settings;
}

std::string JobPath(const Settings& settings, std::string_view key, const std::string& file) {
  const std::string& path = settings.Text(key);
  const size_t slash = file.rfind('/');
  const bool in_file = settings.IsSet(key) && settings.Origin(key) != "command line";
  if (path.empty() || path[0] == '/' || !in_file || slash == std::string::npos) return path;
  return file.substr(0, slash + 1) + path;
}

Result<TreeParameters> ReadTreeSettings(const Settings& settings, const JobConfig& job,
                                        const std::string& task) {
  STRATA_TRY(CheckSections(settings));
  const bool trains = task == "train" || task == "refit";
  std::vector<GivenParameter> given = {{"task", task, "--task"}};
  for (const Setting& row : TreeSettings()) {
    if (!settings.IsSet(row.key)) continue;
    const std::string_view name = row.key.substr(kSection.size());
    given.push_back(
        {std::string(name),
         Contains(kPaths, name) ? JobPath(settings, row.key, job.file) : ValueText(settings, row),
         settings.Origin(row.key)});
  }
  if (settings.IsSet("job.seed")) {
    given.push_back({"seed", fmt::format("{}", job.seed), settings.Origin("job.seed")});
  }
  STRATA_ASSIGN(TreeParameters p, MakeTreeParameters(given, job.file));
  p.columns = job.data;
  for (size_t i = 0; i < job.data.features.size(); ++i) {
    if (job.data.features[i].kind != FeatureKind::kCategorical) continue;
    p.categorical_feature.push_back(fmt::format("{}", i));
  }
  p.data = trains ? job.train_path : job.test_path;
  if (p.data.empty() && task != "convert") {
    return Invalid(fmt::format("{}: {} is empty: expected the file to {}", job.file,
                               trains ? "data.train" : "data.test", task));
  }
  if (trains && !job.test_path.empty()) p.valid = {job.test_path};
  p.output_model = job.model_path;
  p.output_result = job.predictions_path;
  if (task != "train" && p.input_model.empty()) p.input_model = job.model_path;
  if (task != "train" && p.input_model.empty()) {
    return Invalid(
        fmt::format("{}: output.model is empty: expected the file of a trained model", job.file));
  }
  if (task == "predict" && p.output_result.empty()) {
    return Invalid(
        fmt::format("{}: output.predictions is empty: expected the file to write", job.file));
  }
  return p;
}

}  // namespace strata
