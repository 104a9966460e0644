#include "worker/tasks/catboost/fit_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/file/standard_input.h"
#include "worker/tasks/catboost/category_options.h"
#include "worker/tasks/catboost/device_options.h"
#include "worker/tasks/catboost/end_options.h"
#include "worker/tasks/catboost/feature_options.h"
#include "worker/tasks/catboost/fit_class_options.h"
#include "worker/tasks/catboost/fit_input.h"
#include "worker/tasks/catboost/fit_loss_options.h"
#include "worker/tasks/catboost/option_reading.h"
#include "worker/tasks/catboost/pool_settings.h"
#include "worker/tasks/catboost/sampling_options.h"
#include "worker/tasks/catboost/shrink_options.h"

namespace strata {
namespace {

class FitReader {
 public:
  explicit FitReader(const Settings& settings) : settings_(settings) {}

  Result<FitOptions> Read() const {
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
    if (settings_.IsSet("test_set") && options.test.path.empty()) {
      return Invalid(fmt::format("{}: test_set is empty: expected test_set=FILE, or leave it out",
                                 settings_.Origin("test_set")));
    }
    if (options.model_file.empty()) return Invalid("model_file is empty: expected model_file=FILE");
    STRATA_TRY(CheckIsJson("model_file", options.model_file));
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
    STRATA_ASSIGN(p.device, ReadFitDevice(settings_));
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
    p.allow_const_label = settings_.Bool("allow_const_label");
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
    if (IsForGpus(settings_) && !settings_.IsSet("border_count")) p.border_count = kGpuBorders;
    const std::string& nan = settings_.Text("nan_mode");
    p.nan_mode = nan == "Min" ? NanMode::kMin : nan == "Max" ? NanMode::kMax : NanMode::kForbidden;
    STRATA_ASSIGN(p.categories, ReadCategoryParameters(settings_, p.iterations));
    return p;
  }

  const Settings& settings_;
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
  STRATA_ASSIGN(const Settings settings, ReadFitSettings(disk, params_file, words));
  return FitReader(settings).Read();
}

}  // namespace strata
