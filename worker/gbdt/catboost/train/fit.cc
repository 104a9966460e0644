#include "worker/gbdt/catboost/train/fit.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "worker/gbdt/catboost/split_bins.h"
#include "worker/gbdt/catboost/train/auto_learning_rate.h"
#include "worker/gbdt/catboost/train/fit_metric.h"
#include "worker/gbdt/catboost/train/fit_statistics.h"
#include "worker/gbdt/catboost/train/gpu_rows.h"
#include "worker/gbdt/catboost/train/grow/gpu_grower.h"
#include "worker/gbdt/catboost/train/leaf_steps.h"
#include "worker/gbdt/catboost/train/leaf_values.h"
#include "worker/gbdt/catboost/train/model_info.h"
#include "worker/gbdt/catboost/train/model_shrinkage.h"
#include "worker/gbdt/catboost/train/oblivious_tree.h"
#include "worker/gbdt/catboost/train/overfitting_detector.h"
#include "worker/gbdt/catboost/train/start_value.h"
#include "worker/gbdt/catboost/train/tree_search.h"

namespace strata {
namespace {

// CatBoost's own choice: short trainings of few features make one iteration of a leaf.
size_t LeafIterations(const FitParameters& p, size_t features) {
  if (p.leaf_iterations.has_value()) return *p.leaf_iterations;
  if (p.iterations < 200 && features < 20) return 1;
  const LossFacts& facts = FactsOf(p.loss.type);
  if (p.leaf_method == LeafMethod::kNewton) return facts.newton_iterations;
  return p.leaf_method == LeafMethod::kGradient ? facts.gradient_iterations : 1;
}

class Fit {
 public:
  Fit(const FitParameters& parameters, const FitRows& learn, const FitRows* test,
      const CategoryFeatures& categories, WorkPool& pool, const FitWatch& watch,
      CatBoostModel* model)
      : p_(parameters),
        watch_(watch),
        metrics_(parameters.Metrics()),
        learn_(learn),
        test_(test),
        pool_(pool),
        model_(*model),
        bins_(*model),
        l2_((p_.l2_leaf_reg > 0 ? p_.l2_leaf_reg : 1e-20) * learn.weight_sum /
            static_cast<double>(learn.rows())),
        leaf_iterations_(LeafIterations(parameters, model->features())),
        learning_rate_(p_.learning_rate.value_or(AutoLearningRate(p_, learn.rows()))),
        statistics_(parameters, categories, bins_, learn, test, pool, model),
        search_(parameters, learn, l2_, learning_rate_, *model, &statistics_, pool, watch.check) {
    if (p_.detector.has_value()) detector_.emplace(*p_.detector);
  }

  Result<FitResult> Run() {
    STRATA_TRY(Begin());
    FitResult result = {.learning_rate = learning_rate_,
                        .losses = {},
                        .best = {},
                        .best_value = 0,
                        .stop_reason = {}};
    FitLosses best;
    for (size_t i = 0; i < p_.iterations; ++i) {
      STRATA_TRY(AddTree());
      STRATA_ASSIGN(result.losses, Measure());
      if (test_ != nullptr && i + 1 >= p_.best_model_min_trees &&
          (!result.best.has_value() || IsBetter(result.losses, best))) {
        result.best = i + 1;
        result.best_value = result.losses.test.front();
        best = result.losses;
      }
      STRATA_ASSIGN(const bool goes_on, watch_.round(i + 1, result.losses));
      if (!goes_on) {
        result.stop_reason = "nobody reads the losses any more";
        break;
      }
      if (detector_.has_value() && detector_->Add(metrics_.front().AsLoss(result.losses.test[0]))) {
        result.stop_reason = detector_->Reason();
        break;
      }
    }
    if (p_.use_best_model && result.best.has_value()) {
      model_.trees.resize(*result.best);
      result.losses = best;
    }
    shrinkage_->Shrink(&model_);
    return result;
  }

 private:
  Status Begin() {
    STRATA_TRY(search_.Begin());
    STRATA_ASSIGN(shrinkage_, ModelShrinkage::Make(p_.shrink, learning_rate_));
    const double start = StartValue(p_, learn_);
    if (!std::isfinite(start)) {
      return Invalid(fmt::format(
          "boost_from_average: {} begins at {}: expected labels that are not all 0 or all 1",
          LossText(p_.loss), start));
    }
    DescribeModel(p_.loss, learn_.classes, &model_);
    model_.bias.assign(model_.outputs, start);
    if (test_ != nullptr) test_raw_.assign(test_->rows() * model_.outputs, start);
    if (search_.gpu() != nullptr && statistics_.folds() == 1 && GpuRows::MayStay(p_)) {
      STRATA_ASSIGN(gpu_rows_,
                    GpuRows::Make(p_, l2_, learn_, start, pool_, search_.gpu()->device()));
      return {};
    }
    learn_raw_.assign(learn_.rows() * model_.outputs, start);
    fold_raws_.assign(statistics_.averaging_fold(), learn_raw_);
    return {};
  }

  Status AddTreeOnGpu() {
    STRATA_ASSIGN(const ObliviousTree grown, search_.Grow(statistics_.DrawFold(), {}));
    CatBoostTree& tree = model_.trees.emplace_back();
    tree.splits = grown.splits;
    STRATA_ASSIGN(tree.values, StepLeaves(p_, leaf_iterations_, grown.directions,
                                          grown.leaf_count(), *gpu_rows_));
    for (double& value : tree.values) value *= learning_rate_;
    STRATA_ASSIGN(tree.weights, gpu_rows_->LeafWeights());
    STRATA_TRY(gpu_rows_->AddValues(tree.values));
    statistics_.EndTree();
    MoveTestRows(tree);
    return {};
  }

  void MoveTestRows(const CatBoostTree& tree) {
    if (test_ == nullptr) return;
    AddLeafValues(tree.values, statistics_.TestLeaves(tree.splits), pool_, test_raw_);
  }

  Status AddTree() {
    if (gpu_rows_ != nullptr) return AddTreeOnGpu();
    const size_t fold = statistics_.DrawFold();
    ShrinkRaw(shrinkage_->Next());
    STRATA_ASSIGN(ObliviousTree grown, search_.Grow(fold, RawOf(fold)));
    // A row is in the same leaf in all folds, unless the tree splits by what goes by their orders.
    const bool moves = statistics_.folds() > 1 && statistics_.HasStatistic(grown.splits);
    for (size_t other = 0; other < fold_raws_.size(); ++other) {
      if (moves) grown.leaves = statistics_.Leaves(other, grown.splits);
      STRATA_ASSIGN(const std::vector<double> values, EstimateLeaves(grown, fold_raws_[other]));
      AddLeafValues(values, grown.leaves, pool_, fold_raws_[other]);
    }
    if (moves) grown.leaves = statistics_.Leaves(statistics_.averaging_fold(), grown.splits);
    CatBoostTree& tree = model_.trees.emplace_back();
    tree.splits = grown.splits;
    STRATA_ASSIGN(tree.values, EstimateLeaves(grown, learn_raw_));
    tree.weights = LeafWeights(learn_, grown, pool_);
    AddLeafValues(tree.values, grown.leaves, pool_, learn_raw_);
    statistics_.EndTree();
    MoveTestRows(tree);
    return {};
  }

  void ShrinkRaw(double remains) {
    if (remains == 1) return;
    for (std::vector<double>& raws : fold_raws_) {
      for (double& raw : raws) raw *= remains;
    }
    for (double& raw : learn_raw_) raw *= remains;
    for (double& raw : test_raw_) raw *= remains;
  }

  std::vector<double>& RawOf(size_t fold) {
    return fold < fold_raws_.size() ? fold_raws_[fold] : learn_raw_;
  }

  Result<std::vector<double>> EstimateLeaves(const ObliviousTree& tree,
                                             const std::vector<double>& raw) {
    STRATA_ASSIGN(std::vector<double> values,
                  LeafValues(p_, leaf_iterations_, l2_, learn_, tree, raw, pool_));
    for (double& value : values) value *= learning_rate_;
    return values;
  }

  bool IsBetter(const FitLosses& losses, const FitLosses& others) const {
    const MetricSpec& metric = metrics_.front();
    return metric.AsLoss(losses.test.front()) < metric.AsLoss(others.test.front());
  }

  Result<double> MeasureLearn(const MetricSpec& metric) {
    if (gpu_rows_ != nullptr) return gpu_rows_->MeanLoss();
    return MeasureMetric(metric, learn_, learn_raw_, pool_);
  }

  Result<FitLosses> Measure() {
    FitLosses losses;
    bool is_finite = true;
    for (const MetricSpec& metric : metrics_) {
      std::optional<double>& learn = losses.learn.emplace_back();
      if (metric.kind != MetricKind::kAuc) {
        STRATA_ASSIGN(learn, MeasureLearn(metric));
      }
      is_finite = is_finite && std::isfinite(learn.value_or(0));
      if (test_ == nullptr) continue;
      losses.test.push_back(MeasureMetric(metric, *test_, test_raw_, pool_));
      is_finite = is_finite && std::isfinite(losses.test.back());
    }
    if (is_finite) return losses;
    return Invalid(fmt::format(
        "iteration {}: {} is no number any more: expected labels and a learning_rate ({}) with "
        "which it stays finite; lower them",
        model_.trees.size(), model_.loss, learning_rate_));
  }

  const FitParameters& p_;
  const FitWatch& watch_;
  const std::vector<MetricSpec> metrics_;
  const FitRows& learn_;
  const FitRows* const test_;
  WorkPool& pool_;
  CatBoostModel& model_;
  const SplitBins bins_;
  const double l2_;
  const size_t leaf_iterations_;
  const double learning_rate_;
  FitStatistics statistics_;
  TreeSearch search_;
  std::unique_ptr<GpuRows> gpu_rows_;  // where the rows to learn from stay on a GPU
  std::optional<OverfittingDetector> detector_;
  std::optional<ModelShrinkage> shrinkage_;
  std::vector<std::vector<double>> fold_raws_;  // of the learning folds, where they are others
  std::vector<double> learn_raw_;               // of the averaging fold, and the model
  std::vector<double> test_raw_;
};

}  // namespace

Result<FitResult> FitTrees(const FitParameters& parameters, const FitRows& learn,
                           const FitRows* test, const CategoryFeatures& categories, WorkPool& pool,
                           const FitWatch& watch, CatBoostModel* model) {
  return Fit(parameters, learn, test, categories, pool, watch, model).Run();
}

}  // namespace strata
