#include "worker/tasks/catboost/fit_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/file/standard_input.h"
#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/gbdt/model/json_at.h"
#include "worker/tasks/catboost/category_options.h"
#include "worker/tasks/catboost/end_options.h"
#include "worker/tasks/catboost/feature_options.h"
#include "worker/tasks/catboost/fit_class_options.h"
#include "worker/tasks/catboost/fit_loss_options.h"
#include "worker/tasks/catboost/fit_settings.h"
#include "worker/tasks/catboost/option_reading.h"
#include "worker/tasks/catboost/pool_settings.h"
#include "worker/tasks/catboost/sampling_options.h"
#include "worker/tasks/catboost/shrink_options.h"

namespace strata {
namespace {

constexpr uint64_t kParamsBytesMax = 16 << 20;

// Parameters of which one value is there.
struct OnlyValue {
  std::string_view key;
  std::string_view value;
};

constexpr OnlyValue kOnlyValues[] = {
    {"allow_writing_files", "false"},    {"boosting_type", "Plain"},
    {"grow_policy", "SymmetricTree"},    {"task_type", "CPU"},
    {"counter_calc_method", "SkipTest"},
};

Status CheckOnlyValues(const Settings& settings) {
  for (const OnlyValue& only : kOnlyValues) {
    const std::string& found = settings.Text(only.key);
    if (found == only.value) continue;
    return Invalid(fmt::format("{}: {} = {} is not there yet: expected {}",
                               settings.Origin(only.key), only.key, ShownBytes(found), only.value));
  }
  return {};
}

class FitReader {
 public:
  FitReader() : settings_(FitSettingsTable()) {}

  Status AddFile(Disk& disk, const std::string& path) {
    const Status added = AddJson(disk, path);
    // People write this file: it is wrong rather than damaged.
    return added.code() == StatusCode::kCorrupt ? Invalid(added.message()) : added;
  }

  Status AddWords(std::span<const std::string> words) {
    return SetWords(words, FitKey, &settings_);
  }

  Result<FitOptions> Finish() {
    STRATA_TRY(CheckOnlyValues(settings_));
    FitOptions options;
    STRATA_ASSIGN(options.learn, ReadPoolOptions(settings_, "learn_set"));
    options.test = options.learn;
    options.test.path = settings_.Text("test_set");
    options.model_file = settings_.Text("model_file");
    options.threads = ThreadCount(settings_);
    STRATA_ASSIGN(options.display, ReadDisplay(settings_));
    if (options.learn.path.empty()) {
      return Invalid("learn_set is missing: expected learn_set=FILE, the rows to learn from");
    }
    if (options.model_file.empty()) return Invalid("model_file is empty: expected model_file=FILE");
    if (IsStandardInput(options.learn.path) && IsStandardInput(options.test.path)) {
      return Invalid("learn_set and test_set are both standard input: name a file for one");
    }
    STRATA_ASSIGN(options.parameters, Parameters());
    options.inputs = {{"column_description", options.learn.column_description}};
    for (const char* const key : {"learn_set", "test_set"}) {
      if (const std::string& path = settings_.Text(key); !IsStandardInput(path)) {
        options.inputs.push_back({key, path});
      }
    }
    return options;
  }

 private:
  Status AddJson(Disk& disk, const std::string& path) {
    STRATA_ASSIGN(const std::string text, ReadTextFile(disk, path, kParamsBytesMax));
    STRATA_ASSIGN(const nlohmann::json json, ParseJson(text, path));
    if (!json.is_object()) return JsonAt(json, path).Expected("an object of parameters");
    std::set<std::string_view> seen;
    for (const auto& [name, value] : json.items()) {
      if (!seen.insert(FitKey(name)).second) {
        return Invalid(fmt::format("{}: {} is given twice: give it once", path, FitKey(name)));
      }
      if (const char mark = MarkOfList(FitKey(name)); mark != 0 && value.is_array()) {
        const JsonAt list(value, fmt::format("{}: {}", path, name));
        STRATA_ASSIGN(const std::string joined, JoinedItems(list, mark));
        STRATA_TRY(settings_.Set(FitKey(name), joined, path));
        continue;
      }
      if (const auto of_features =
              value.is_structured() ? FeatureText(name, value) : std::nullopt) {
        STRATA_TRY(settings_.Set(name, *of_features, path));
        continue;
      }
      if (value.is_structured() && HasRow(FitKey(name))) {
        return JsonAt(value, fmt::format("{}: {}", path, name))
            .Expected("a text, a number, true or false");
      }
      STRATA_TRY(settings_.Set(FitKey(name),
                               value.is_string() ? value.get<std::string>() : value.dump(), path));
    }
    return {};
  }

  static bool HasRow(std::string_view key) {
    return std::ranges::any_of(FitSettingsTable().settings,
                               [key](const Setting& row) { return row.key == key; });
  }

  // By what the items of a list are parted on the command line; 0: the key is no list.
  static char MarkOfList(std::string_view key) {
    if (key == "per_feature_ctr") return ';';
    const bool is_list = std::ranges::any_of(
        FitSettingsTable().settings,
        [key](const Setting& row) { return row.key == key && row.type == SettingType::kTextList; });
    return is_list || key == "simple_ctr" || key == "combinations_ctr" ? ',' : '\0';
  }

  // The texts and numbers of a list, as a word of the command line has them.
  static Result<std::string> JoinedItems(const JsonAt& list, char mark) {
    STRATA_ASSIGN(const std::vector<JsonAt> items, list.Items());
    std::string joined;
    for (const JsonAt& item : items) {
      const nlohmann::json& value = item.value();
      if (value.is_structured()) return item.Expected("a text or a number");
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (text.find(mark) != std::string::npos) {
        return item.Expected(mark == ',' ? "a text without commas" : "a text without semicolons");
      }
      if (!joined.empty()) joined += mark;
      joined += text;
    }
    return joined;
  }

  // Nothing: it is chosen.
  Result<std::optional<double>> LearningRate() const {
    if (settings_.IsSet("learning_rate")) {
      const double rate = FloatOption(settings_, "learning_rate");
      if (rate > 0) return std::optional<double>(rate);
      return Invalid(fmt::format("{}: learning_rate: expected a number above 0, found {}",
                                 settings_.Origin("learning_rate"),
                                 settings_.Float("learning_rate")));
    }
    constexpr const char* kOfLeaves[] = {"l2_leaf_reg", "leaf_estimation_method",
                                         "leaf_estimation_iterations"};
    const bool is_chosen =
        std::ranges::none_of(kOfLeaves, [this](const char* key) { return settings_.IsSet(key); });
    return is_chosen ? std::optional<double>() : std::optional<double>(kDefaultLearningRate);
  }

  Result<FitParameters> Parameters() const {
    FitParameters p;
    p.iterations = static_cast<size_t>(settings_.Int("iterations"));
    STRATA_ASSIGN(p.learning_rate, LearningRate());
    p.depth = static_cast<size_t>(settings_.Int("depth"));
    p.l2_leaf_reg = FloatOption(settings_, "l2_leaf_reg");
    const std::string& score = settings_.Text("score_function");
    p.score = score == "Cosine"         ? ScoreFunction::kCosine
              : score == "L2"           ? ScoreFunction::kL2
              : score == "NewtonCosine" ? ScoreFunction::kNewtonCosine
                                        : ScoreFunction::kNewtonL2;
    STRATA_TRY(SetLossParameters(settings_, &p));
    STRATA_TRY(SetClassParameters(settings_, &p));
    p.backtracking = settings_.Text("leaf_estimation_backtracking") == "AnyImprovement";
    STRATA_TRY(SetEnd(settings_, &p));
    STRATA_ASSIGN(p.sampling, ReadSampling(settings_, p.loss.type));
    p.random_seed = static_cast<uint64_t>(settings_.Int("random_seed"));
    STRATA_TRY(SetFeatureRules(settings_, &p));
    STRATA_ASSIGN(p.shrink, ReadShrinkage(settings_, !p.features.directions.empty()));
    p.random_strength = FloatOption(settings_, "random_strength");
    p.rsm = FloatOption(settings_, "rsm");
    if (!(p.rsm > 0)) {
      return Invalid(fmt::format("{}: rsm: expected a probability above 0, found {}",
                                 settings_.Origin("rsm"), settings_.Float("rsm")));
    }
    p.border_type = *FindBorderType(settings_.Text("feature_border_type"));  // one of the choices
    p.border_count = static_cast<size_t>(settings_.Int("border_count"));
    const std::string& nan = settings_.Text("nan_mode");
    p.nan_mode = nan == "Min" ? NanMode::kMin : nan == "Max" ? NanMode::kMax : NanMode::kForbidden;
    STRATA_ASSIGN(p.categories, ReadCategoryParameters(settings_, p.iterations));
    return p;
  }

  Settings settings_;
};

}  // namespace

Result<FitOptions> LoadFitOptions(Disk& disk, const std::string& params_file,
                                  std::span<const std::string> words, const std::string& task) {
  if (task != "train") {
    return Invalid(fmt::format(
        "--task={}: --catboost-params trains: expected --task=train; without --catboost-params, "
        "model_file=FILE predicts and converts",
        task));
  }
  FitReader reader;
  STRATA_TRY(reader.AddFile(disk, params_file));
  STRATA_TRY(reader.AddWords(words));
  return reader.Finish();
}

}  // namespace strata
