#include "worker/job/tree_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <type_traits>

#include "worker/gbdt/lightgbm/given_parameters.h"
#include "worker/gbdt/lightgbm/parameter_place.h"
#include "worker/gbdt/lightgbm/parameter_table.h"

namespace strata {
namespace {

// Parameters that name files.
constexpr std::string_view kPaths[] = {"input_model", "convert_model", "forcedbins_filename",
                                       "forcedsplits_filename", "report_file"};

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

Setting SettingOf(const ParameterRow& row, std::deque<std::string>* texts) {
  const auto keep = [texts](std::string text) -> std::string_view {
    return texts->emplace_back(std::move(text));
  };
  Setting setting = {.key = keep(fmt::format("{}{}", kParameterSection, row.name)),
                     .help = row.help};
  TreeParameters defaults = LightGbmDefaults();
  std::visit(
      [&]<typename T>(const T* value) {
        setting.type = TypeOf<T>();
        setting.default_value = keep(DefaultText(*value));
      },
      row.member(defaults));
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

std::string WhyElsewhere(std::string_view name, std::string_view place) {
  if (place.empty()) return fmt::format("is for a train.conf alone (--lightgbm-conf): remove it");
  return fmt::format("has another place: {} (LightGBM's {})", place, name);
}

// A path that the key's value holds, as the job file means it.
std::string PathFrom(const Settings& settings, std::string_view key, const std::string& path,
                     const std::string& file) {
  const size_t slash = file.rfind('/');
  const bool in_file = settings.IsSet(key) && settings.Origin(key) != "command line";
  // "-" is standard output, wherever it is said.
  if (path.empty() || path[0] == '/' || path == "-" || !in_file || slash == std::string::npos) {
    return path;
  }
  return file.substr(0, slash + 1) + path;
}

}  // namespace

std::span<const RefusedKey> RefusedTreeKeys() {
  static std::deque<std::string> texts;
  static const std::vector<RefusedKey> keys = [] {
    std::vector<RefusedKey> all;
    const auto add = [&all](std::string_view names, const std::string& why) {
      const std::string_view kept = texts.emplace_back(why);
      while (!names.empty()) {
        const size_t end = std::min(names.find(' '), names.size());
        const std::string key = fmt::format("{}{}", kParameterSection, names.substr(0, end));
        all.push_back({.key = texts.emplace_back(key), .why = kept});
        names.remove_prefix(std::min(names.size(), end + 1));
      }
    };
    for (const UnsupportedParameter& row : UnsupportedParameters()) {
      add(row.name, "is a parameter of LightGBM that Strata does not support: remove it");
    }
    for (const IdleParameter& row : ParametersWithoutEffect()) {
      add(row.names, "has no effect here: remove it");
    }
    for (const ParameterRow& row : ParameterRows()) {
      const std::optional<std::string_view> place = PlaceElsewhere(row.name);
      if (place.has_value()) {
        add(row.name, WhyElsewhere(row.name, *place));
        add(row.aliases, WhyElsewhere(row.name, *place));
      } else {
        add(row.aliases, fmt::format("is {}{} in a job file", kParameterSection, row.name));
      }
    }
    return all;
  }();
  return keys;
}

const std::vector<Setting>& TreeSettings() {
  static std::deque<std::string> texts;
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> all;
    for (const ParameterRow& row : ParameterRows()) {
      if (!PlaceElsewhere(row.name).has_value()) all.push_back(SettingOf(row, &texts));
    }
    return all;
  }();
  return settings;
}

std::string JobPath(const Settings& settings, std::string_view key, const std::string& file) {
  return PathFrom(settings, key, settings.Text(key), file);
}

std::vector<std::string> JobPaths(const Settings& settings, std::string_view key,
                                  const std::string& file) {
  std::vector<std::string> paths;
  for (const std::string& path : settings.TextList(key)) {
    paths.push_back(PathFrom(settings, key, path, file));
  }
  return paths;
}

Status CheckTreeSections(const Settings& settings, std::string_view allowed) {
  constexpr std::string_view kOthers[] = {"model.", "sparse.",  "dense.",
                                          "train.", "compute.", "checkpoint."};
  for (const Setting& row : JobSettingsTable().settings) {
    const bool other = std::ranges::any_of(
        kOthers, [&](std::string_view section) { return row.key.starts_with(section); });
    const bool single =
        row.key == "output.dictionary" || row.key == "data.group" || row.key == "data.threads";
    if ((other || single) && row.key != "model.kind" && row.key != allowed &&
        settings.IsSet(row.key)) {
      return WithoutEffect(settings.Origin(row.key), row.key);
    }
  }
  for (const Settings& feature : settings.Repeated("feature")) {
    if (feature.IsSet("transforms")) {
      return WithoutEffect(feature.Origin("transforms"), "feature.transforms");
    }
    if (feature.IsSet("keys_of"))
      return WithoutEffect(feature.Origin("keys_of"), "feature.keys_of");
    if (feature.Text("kind") == "bucketised") {
      return Invalid(fmt::format(
          "{}: feature.kind = \"bucketised\": trees find boundaries themselves; use \"numeric\"",
          feature.Origin("kind")));
    }
  }
  return {};
}

Result<std::string> OneTreeFile(const Settings& settings, std::string_view key,
                                const std::vector<std::string>& files) {
  if (files.size() <= 1) return files.empty() ? std::string() : files[0];
  return Invalid(
      fmt::format("{}: {} names {} files: expected one, as boosted trees read one file; join them, "
                  "each without the header of the one before (cat, tail -n +2)",
                  settings.Origin(key), key, files.size()));
}

Result<TreeParameters> ReadTreeSettings(const Settings& settings, const JobConfig& job,
                                        const std::string& task) {
  STRATA_TRY(CheckTreeSections(settings, ""));
  if (task == "save_binary") {
    return Invalid("--task=save_binary is for a train.conf alone: its files hold no texts");
  }
  const bool trains = task == "train" || task == "refit";
  std::vector<GivenParameter> given = {{"task", task, "--task"}};
  for (const Setting& row : TreeSettings()) {
    if (!settings.IsSet(row.key)) continue;
    const std::string_view name = row.key.substr(kParameterSection.size());
    given.push_back(
        {std::string(name),
         Contains(kPaths, name) ? JobPath(settings, row.key, job.file) : ValueText(settings, row),
         settings.Origin(row.key)});
  }
  if (settings.IsSet("job.seed")) {
    given.push_back({"seed", fmt::format("{}", job.seed), settings.Origin("job.seed")});
  }
  STRATA_ASSIGN(TreeParameters p, MakeTreeParameters(given, job.file));
  p.data.columns = job.data;
  for (size_t i = 0; i < job.data.features.size(); ++i) {
    if (job.data.features[i].kind != FeatureKind::kCategorical) continue;
    p.data.categorical_feature.push_back(fmt::format("{}", i));
  }
  STRATA_ASSIGN(p.data.path, OneTreeFile(settings, trains ? "data.train" : "data.test",
                                         trains ? job.train_files : job.test_files));
  if (p.data.path.empty() && task != "convert") {
    return NoPath(job.file, trains ? "data.train" : "data.test",
                  fmt::format("the file of rows to {}", task));
  }
  if (trains && !job.test_files.empty()) {
    STRATA_ASSIGN(const std::string valid, OneTreeFile(settings, "data.test", job.test_files));
    p.data.valid = {valid};
  }
  p.task.output_model = job.model_path;
  p.task.output_result = job.predictions_path;
  if (task != "train" && p.task.input_model.empty()) p.task.input_model = job.model_path;
  if (task != "train" && p.task.input_model.empty()) {
    return NoPath(job.file, "output.model", "the file of a trained model");
  }
  if (task == "predict" && p.task.output_result.empty()) {
    return NoPath(job.file, "output.predictions", "the file to write");
  }
  return p;
}

}  // namespace strata
