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

// Nothing: it is chosen.
Result<std::optional<double>> LearningRate(const Settings& settings) {
  if (settings.IsSet("learning_rate")) {
    const double rate = FloatOption(settings, "learning_rate");
    if (rate > 0) return std::optional<double>(rate);
    return Invalid(fmt::format("{}: learning_rate: expected a number above 0, found {}",
                               settings.Origin("learning_rate"), settings.Float("learning_rate")));
  }
  constexpr const char* kOfLeaves[] = {"l2_leaf_reg", "leaf_estimation_method",
                                       "leaf_estimation_iterations"};
  const bool is_chosen =
      std::ranges::none_of(kOfLeaves, [&settings](const char* key) { return settings.IsSet(key); });
  return is_chosen ? std::optional<double>() : std::optional<double>(kDefaultLearningRate);
}

Result<FitOptions> ReadFitOptions(const Settings& settings) {
  FitOptions options;
  STRATA_ASSIGN(options.learn, ReadPoolOptions(settings, "learn_set"));
  options.test = options.learn;
  options.test.path = settings.Text("test_set");
  options.model_file = settings.Text("model_file");
  options.threads = ThreadCount(settings);
  STRATA_ASSIGN(options.display, ReadDisplay(settings));
  if (options.learn.path.empty()) {
    return Invalid("learn_set is missing: expected learn_set=FILE, the rows to learn from");
  }
  if (settings.IsSet("test_set") && options.test.path.empty()) {
    return Invalid(fmt::format("{}: test_set is empty: expected test_set=FILE, or leave it out",
                               settings.Origin("test_set")));
  }
  if (options.model_file.empty()) return Invalid("model_file is empty: expected model_file=FILE");
  STRATA_TRY(CheckIsJson("model_file", options.model_file));
  if (IsStandardInput(options.learn.path) && IsStandardInput(options.test.path)) {
    return Invalid("learn_set and test_set are both standard input: name a file for one");
  }
  STRATA_ASSIGN(options.parameters, ReadFitParameters(settings));
  options.inputs = {{"column_description", options.learn.column_description}};
  for (const char* const key : {"learn_set", "test_set"}) {
    if (const std::string& path = settings.Text(key); !IsStandardInput(path)) {
      options.inputs.push_back({key, path});
    }
  }
  return options;
}

}  // namespace

Result<FitParameters> ReadFitParameters(const Settings& settings) {
  FitParameters p;
  STRATA_ASSIGN(p.device, ReadFitDevice(settings));
  p.iterations = static_cast<size_t>(settings.Int("iterations"));
  STRATA_ASSIGN(p.learning_rate, LearningRate(settings));
  p.depth = static_cast<size_t>(settings.Int("depth"));
  p.l2_leaf_reg = FloatOption(settings, "l2_leaf_reg");
  const std::string& score = settings.Text("score_function");
  p.score = score == "Cosine"         ? ScoreFunction::kCosine
            : score == "L2"           ? ScoreFunction::kL2
            : score == "NewtonCosine" ? ScoreFunction::kNewtonCosine
                                      : ScoreFunction::kNewtonL2;
  STRATA_TRY(SetLossParameters(settings, &p));
  p.allow_const_label = settings.Bool("allow_const_label");
  STRATA_TRY(SetClassParameters(settings, &p));
  p.backtracking = settings.Text("leaf_estimation_backtracking") == "AnyImprovement";
  STRATA_TRY(SetEnd(settings, &p));
  STRATA_ASSIGN(p.sampling, ReadSampling(settings, p.loss.type));
  p.random_seed = static_cast<uint64_t>(settings.Int("random_seed"));
  STRATA_TRY(SetFeatureRules(settings, &p));
  STRATA_ASSIGN(p.shrink, ReadShrinkage(settings, !p.features.directions.empty()));
  p.random_strength = FloatOption(settings, "random_strength");
  p.rsm = FloatOption(settings, "rsm");
  if (!(p.rsm > 0)) {
    return Invalid(fmt::format("{}: rsm: expected a probability above 0, found {}",
                               settings.Origin("rsm"), settings.Float("rsm")));
  }
  p.border_type = *FindBorderType(settings.Text("feature_border_type"));  // one of the choices
  p.border_count = static_cast<size_t>(settings.Int("border_count"));
  if (IsForGpus(settings) && !settings.IsSet("border_count")) p.border_count = kGpuBorders;
  const std::string& nan = settings.Text("nan_mode");
  p.nan_mode = nan == "Min" ? NanMode::kMin : nan == "Max" ? NanMode::kMax : NanMode::kForbidden;
  STRATA_ASSIGN(p.categories, ReadCategoryParameters(settings, p.iterations));
  return p;
}

Result<FitOptions> LoadFitOptions(Disk& disk, const std::string& params_file,
                                  std::span<const std::string> words, const std::string& task) {
  if (task != "train") {
    return Invalid(fmt::format(
        "--task={}: --catboost-params trains: expected --task=train; without --catboost-params, "
        "model_file=FILE predicts and converts",
        task));
  }
  STRATA_ASSIGN(const Settings settings, ReadFitSettings(disk, params_file, words));
  return ReadFitOptions(settings);
}

}  // namespace strata
