#include "worker/tasks/catboost/fit_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/print.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/train/category_features.h"
#include "worker/gbdt/catboost/train/class_weights.h"
#include "worker/gbdt/catboost/train/feature_rules.h"
#include "worker/gbdt/catboost/train/fit.h"
#include "worker/gbdt/catboost/train/keep_used_splits.h"
#include "worker/gbdt/catboost/train/learn_rows.h"
#include "worker/gbdt/catboost/train/number_borders.h"
#include "worker/gbdt/tree_pool.h"

namespace strata {
namespace {

std::vector<Evaluation> EvaluationsOf(const FitParameters& parameters, const FitLosses& losses) {
  Evaluation learn = {.data = "training", .metrics = {}};
  Evaluation test = {.data = "test", .metrics = {}};
  const std::vector<MetricSpec> metrics = parameters.Metrics();
  for (size_t i = 0; i < metrics.size(); ++i) {
    const MetricValue named = {.name = MetricText(metrics[i]),
                               .higher_is_better = metrics[i].kind != MetricKind::kLoss};
    const auto add = [&named](double value, Evaluation* evaluation) {
      evaluation->metrics.push_back(named);
      evaluation->metrics.back().value = value;
    };
    if (losses.learn[i].has_value()) add(*losses.learn[i], &learn);
    if (!losses.test.empty()) add(losses.test[i], &test);
  }
  std::vector<Evaluation> all = {std::move(learn)};
  if (!losses.test.empty()) all.push_back(std::move(test));
  return all;
}

class FitTask {
 public:
  FitTask(const FitOptions& options, const TreeTaskContext& context)
      : o_(options), context_(context), p_(options.parameters) {}

  Result<TreeTaskResult> Run() {
    std::vector<NamedFile> inputs = o_.inputs;
    inputs.insert(inputs.end(), context_.files.begin(), context_.files.end());
    const NamedFile output = {fmt::format("{} = {}", o_.model_option, o_.model_file),
                              o_.model_file};
    STRATA_TRY(CheckOutputFiles(context_.disk, {&output, 1}, inputs));
    MachineParameters machine;
    machine.num_threads = o_.threads;
    STRATA_ASSIGN(pool_, StartTreePool(machine));
    const TimeNs begin = context_.clock.Now();
    STRATA_TRY(Load());
    const TimeNs loaded = context_.clock.Now();
    STRATA_ASSIGN(const FitResult fitted, Train());
    if (!p_.learning_rate.has_value()) {
      Log(LogLevel::kInfo, "the learning rate is {}", static_cast<float>(fitted.learning_rate));
    }
    if (o_.display.shows_progress) SayBest(fitted);
    KeepUsedSplits(&model_);
    STRATA_ASSIGN(const std::string text, WriteCatBoostJson(model_));
    STRATA_TRY(WriteOutput(context_.disk, o_.model_file, text));
    return TreeTaskResult{.task = "train",
                          .rows = learn_.rows(),
                          .bad_rows = bad_rows_,
                          .features = model_.features(),
                          .rounds = model_.trees.size(),
                          .samples = learn_.rows() * rounds_,
                          .best_round = fitted.best,
                          .stop_reason = fitted.stop_reason,
                          .load_seconds = SecondsBetween(begin, loaded),
                          .train_seconds = SecondsBetween(loaded, context_.clock.Now()),
                          .evaluations = EvaluationsOf(p_, fitted.losses),
                          .output = o_.model_file};
  }

 private:
  Status Load() {
    const LearnReader reader = {
        .disk = context_.disk, .pool = *pool_, .check = context_.check, .parameters = p_};
    STRATA_ASSIGN(LearnRows learn, ReadRowsToLearn(reader, o_.learn, &model_));
    STRATA_ASSIGN(const std::vector<float> class_weights, ClassWeights(p_, learn));
    STRATA_TRY(WeighRows(class_weights, &learn).Prefixed(o_.learn.path));
    STRATA_TRY(CheckFeaturesOfCtrs());
    bad_rows_ = learn.bad_rows;
    SetBorders(p_, learn, *pool_, &model_);
    CategoryNumbers numbers;
    categories_ =
        FindCategoryFeatures(p_.categories.one_hot_max_size, learn, *pool_, &model_, &numbers);
    STRATA_TRY(IgnoreFeatures(p_.features, &model_, &categories_.with_statistics));
    model_.ListFeatureSplits();
    if (model_.splits.empty() && categories_.with_statistics.empty()) {
      return Invalid(fmt::format(
          "{}: no split is possible: expected a feature with different values in its rows",
          o_.learn.path));
    }
    const SplitBins bins(model_);
    const size_t columns = learn.columns;
    learn_ = BinRows(bins, std::move(learn), *pool_);
    learn_.categories = std::move(numbers);
    if (o_.test.path.empty()) return {};
    STRATA_ASSIGN(LearnRows test, ReadRowsToTest(reader, o_.test, model_,
                                                 {.columns = columns,
                                                  .classes = learn_.classes,
                                                  .categories = categories_.with_statistics}));
    STRATA_TRY(WeighRows(class_weights, &test).Prefixed(o_.test.path));
    numbers = categories_.Number(test, *pool_);
    test_ = BinRows(bins, std::move(test), *pool_);
    test_.categories = std::move(numbers);
    // As CatBoost has it: labels that are all the same do not tell which model is the best.
    const auto [least, most] = std::ranges::minmax(test_.labels);
    if (least == most) p_.use_best_model = false;
    return {};
  }

  Status CheckFeaturesOfCtrs() const {
    for (const auto& [feature, ctrs] : p_.categories.per_feature) {
      const bool is_category = std::ranges::any_of(
          model_.categories,
          [feature](const CatBoostCategory& category) { return category.flat_index == feature; });
      if (is_category) continue;
      return Invalid(fmt::format(
          "per_feature_ctr: feature {} is no category: expected the place of one among the {} "
          "features of {}, from 0 on",
          feature, model_.features(), o_.learn.path));
    }
    return {};
  }

  Result<FitResult> Train() {
    const auto round = [this](size_t rounds, const FitLosses& losses) -> Result<bool> {
      STRATA_TRY(context_.check());
      rounds_ = rounds;
      const bool is_shown = rounds % o_.display.metric_period == 0 || rounds == p_.iterations;
      if (context_.progress && is_shown) {
        const std::vector<Evaluation> evaluations = EvaluationsOf(p_, losses);
        context_.progress({.round = rounds,
                           .rounds = p_.iterations,
                           .rows = learn_.rows(),
                           .evaluations = &evaluations});
      }
      return !context_.is_unread || !context_.is_unread();
    };
    const FitRows* const test = o_.test.path.empty() ? nullptr : &test_;
    return FitTrees(p_, learn_, test, categories_, *pool_, {round, context_.check}, &model_);
  }

  // In CatBoost's words, for which people and programs look. Its iterations are counted from 0.
  void SayBest(const FitResult& fitted) const {
    if (!fitted.best.has_value()) return;
    Log(LogLevel::kInfo, "bestTest = {:.9g}", fitted.best_value);
    Log(LogLevel::kInfo, "bestIteration = {}", *fitted.best - 1);
    if (model_.trees.size() == rounds_) return;
    Log(LogLevel::kInfo, "Shrink model to first {} iterations.", model_.trees.size());
  }

  const FitOptions& o_;
  const TreeTaskContext& context_;
  FitParameters p_;
  std::unique_ptr<WorkPool> pool_;
  CatBoostModel model_;
  CategoryFeatures categories_;
  FitRows learn_;
  FitRows test_;
  uint64_t bad_rows_ = 0;
  size_t rounds_ = 0;
};

}  // namespace

Result<TreeTaskResult> RunFitTask(const FitOptions& options, const TreeTaskContext& context) {
  return FitTask(options, context).Run();
}

}  // namespace strata
