#include "worker/gbdt/catboost/train/fit.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "worker/gbdt/catboost/split_bins.h"
#include "worker/gbdt/catboost/train/auto_learning_rate.h"
#include "worker/gbdt/catboost/train/bootstrap_sampler.h"
#include "worker/gbdt/catboost/train/feature_rules.h"
#include "worker/gbdt/catboost/train/fit_metric.h"
#include "worker/gbdt/catboost/train/fit_statistics.h"
#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"
#include "worker/gbdt/catboost/train/leaf_values.h"
#include "worker/gbdt/catboost/train/model_info.h"
#include "worker/gbdt/catboost/train/model_shrinkage.h"
#include "worker/gbdt/catboost/train/oblivious_tree.h"
#include "worker/gbdt/catboost/train/overfitting_detector.h"
#include "worker/gbdt/catboost/train/split_choice.h"
#include "worker/gbdt/catboost/train/start_value.h"
#include "worker/gbdt/catboost/train/tree_columns.h"
#include "worker/gbdt/catboost/train/tree_ctrs.h"

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
      const CategoryFeatures& categories, WorkPool& pool, CatBoostModel* model)
      : p_(parameters),
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
        sampler_(p_.sampling, p_.random_seed, learn.rows()),
        choice_(p_.random_seed, p_.rsm, pool),
        columns_(FeatureColumns(*model, learn)),
        statistics_(parameters, categories, bins_, learn, test, pool, model),
        grower_({.is_cosine =
                     p_.score == ScoreFunction::kCosine || p_.score == ScoreFunction::kNewtonCosine,
                 .l2 = l2_,
                 .levels_max = p_.depth},
                pool) {
    if (p_.detector.has_value()) detector_.emplace(*p_.detector);
  }

  Result<FitResult> Run(const FitRound& round) {
    STRATA_TRY(Begin());
    FitResult result = {
        .learning_rate = learning_rate_, .losses = {}, .best = {}, .stop_reason = {}};
    FitLosses best;
    for (size_t i = 0; i < p_.iterations; ++i) {
      STRATA_TRY(AddTree());
      STRATA_ASSIGN(result.losses, Measure());
      if (test_ != nullptr && i + 1 >= p_.best_model_min_trees &&
          (!result.best.has_value() || IsBetter(result.losses, best))) {
        result.best = i + 1;
        best = result.losses;
      }
      STRATA_ASSIGN(const bool goes_on, round(i + 1, result.losses));
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
    STRATA_ASSIGN(const std::vector<double> directions, Directions(p_.features, model_));
    for (size_t column = 0; column < columns_.columns.size(); ++column) {
      columns_.columns[column].direction =
          static_cast<int8_t>(directions[columns_.features[column]]);
    }
    STRATA_ASSIGN(rules_, ColumnRules::Make(p_.features, model_));
    STRATA_ASSIGN(shrinkage_, ModelShrinkage::Make(p_.shrink, learning_rate_));
    const double start = StartValue(p_, learn_);
    if (!std::isfinite(start)) {
      return Invalid(fmt::format(
          "boost_from_average: {} begins at {}: expected labels that are not all 0 or all 1",
          LossText(p_.loss), start));
    }
    DescribeModel(p_.loss, learn_.classes, &model_);
    model_.bias.assign(model_.outputs, start);
    learn_raw_.assign(learn_.rows() * model_.outputs, start);
    fold_raws_.assign(statistics_.averaging_fold(), learn_raw_);
    if (test_ != nullptr) test_raw_.assign(test_->rows() * model_.outputs, start);
    gradients_.resize(learn_raw_.size());
    weights_.resize(learn_.rows());
    return {};
  }

  Status AddTree() {
    const size_t fold = statistics_.DrawFold();
    ShrinkRaw(shrinkage_->Next());
    DeriveRows(p_, learn_, RawOf(fold), pool_, gradients_, weights_);
    STRATA_ASSIGN(ObliviousTree grown, Grow(fold));
    // A row is in the same leaf in all folds, unless the tree splits by what goes by their orders.
    const bool moves = statistics_.folds() > 1 && statistics_.HasStatistic(grown.splits);
    for (size_t other = 0; other < fold_raws_.size(); ++other) {
      if (moves) grown.leaves = statistics_.Leaves(other, grown.splits);
      const std::vector<double> values = EstimateLeaves(grown, fold_raws_[other]);
      AddLeafValues(values, grown.leaves, pool_, fold_raws_[other]);
    }
    if (moves) grown.leaves = statistics_.Leaves(statistics_.averaging_fold(), grown.splits);
    CatBoostTree& tree = model_.trees.emplace_back();
    tree.splits = grown.splits;
    tree.values = EstimateLeaves(grown, learn_raw_);
    tree.weights = LeafWeights(learn_, grown, pool_);
    AddLeafValues(tree.values, grown.leaves, pool_, learn_raw_);
    statistics_.EndTree();
    if (test_ != nullptr) {
      AddLeafValues(tree.values, statistics_.TestLeaves(tree.splits), pool_, test_raw_);
    }
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

  std::vector<double> EstimateLeaves(const ObliviousTree& tree, const std::vector<double>& raw) {
    std::vector<double> values = LeafValues(p_, leaf_iterations_, l2_, learn_, tree, raw, pool_);
    for (double& value : values) value *= learning_rate_;
    return values;
  }

  // What splits are searched with; leaves go by all rows.
  struct SplitRows {
    std::span<const double> gradients;
    std::span<const double> weights;
  };

  Result<SplitRows> SampleRows(size_t level) {
    if (!sampler_.is_active()) return SplitRows{gradients_, weights_};
    const bool is_first = model_.trees.empty();
    factors_.resize(learn_.rows());
    STRATA_TRY(sampler_.Draw(model_.trees.size(), level, gradients_,
                             is_first ? std::span<const double>() : model_.trees.back().values,
                             pool_, factors_));
    sampled_gradients_.resize(gradients_.size());
    sampled_weights_.resize(weights_.size());
    pool_.RunPieces(learn_.rows(), FitPiece(learn_.rows()), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        for (size_t k = 0; k < model_.outputs; ++k) {
          const size_t at = k * learn_.rows() + row;
          sampled_gradients_[at] = gradients_[at] * factors_[row];
        }
        sampled_weights_[row] = weights_[row] * factors_[row];
      }
    });
    return SplitRows{sampled_gradients_, sampled_weights_};
  }

  bool IsFixed(size_t column) const { return column < columns_.columns.size(); }

  std::vector<uint32_t> FeaturesOf(size_t column, const TreeCtrs& ctrs) const {
    if (IsFixed(column)) return {columns_.features[column]};
    return ctrs.FeaturesOf(column);
  }

  uint32_t ModelSplit(const GrowSplit& split, TreeCtrs* ctrs) const {
    return IsFixed(split.column) ? columns_.ModelSplit(split) : ctrs->ModelSplit(split);
  }

  // One for each column of the tree.
  std::vector<ColumnRule> LevelRules(const TreeCtrs& ctrs) const {
    std::vector<ColumnRule> rules(columns_.columns.size() + ctrs.columns());
    for (size_t column = 0; column < rules.size(); ++column) {
      rules[column] = rules_->Of(FeaturesOf(column, ctrs));
    }
    ctrs.SetFactors(rules);
    return rules;
  }

  Result<ObliviousTree> Grow(size_t fold) {
    const size_t trees = model_.trees.size();
    TreeLevel level;
    level.tree = trees;
    level.deviation = NoiseDeviation(p_.random_strength, gradients_, learn_.rows(),
                                     learning_rate_ * static_cast<double>(trees), pool_);
    STRATA_ASSIGN(const SplitRows rows, SampleRows(0));
    grower_.Begin(rows.gradients, rows.weights);
    grower_.AddFixedColumns(columns_.columns);
    TreeCtrs ctrs = statistics_.StartTree(fold, columns_.columns.size());
    ObliviousTree tree;
    for (; grower_.levels() < p_.depth; ++level.level) {
      if (level.level > 0 && p_.sampling.is_per_level) {
        STRATA_ASSIGN(const SplitRows of_level, SampleRows(level.level));
        grower_.SetGradients(of_level.gradients, of_level.weights);
      }
      grower_.AddColumns(ctrs.NextLevel());
      const auto best = choice_.Choose(level, grower_.Score(), LevelRules(ctrs));
      if (!best.has_value()) break;
      rules_->Use(FeaturesOf(best->split.column, ctrs));
      ctrs.AddSplit(ModelSplit(best->split, &ctrs));
      if (rules_->is_active()) level.score_before = best->score;
      if (!grower_.Split(best->split)) break;
    }
    GrownObliviousTree grown = grower_.Take();
    tree.leaves = std::move(grown.leaves);
    for (const GrowSplit& split : grown.splits) {
      tree.splits.push_back(ModelSplit(split, &ctrs));
      if (p_.features.directions.empty()) continue;
      tree.directions.push_back(IsFixed(split.column) ? columns_.columns[split.column].direction
                                                      : int8_t{0});
    }
    return tree;
  }

  bool IsBetter(const FitLosses& losses, const FitLosses& others) const {
    const MetricSpec& metric = metrics_.front();
    return metric.AsLoss(losses.test.front()) < metric.AsLoss(others.test.front());
  }

  Result<FitLosses> Measure() const {
    FitLosses losses;
    bool is_finite = true;
    for (const MetricSpec& metric : metrics_) {
      std::optional<double>& learn = losses.learn.emplace_back();
      if (metric.kind != MetricKind::kAuc) learn = MeasureMetric(metric, learn_, learn_raw_, pool_);
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
  const std::vector<MetricSpec> metrics_;
  const FitRows& learn_;
  const FitRows* const test_;
  WorkPool& pool_;
  CatBoostModel& model_;
  const SplitBins bins_;
  const double l2_;
  const size_t leaf_iterations_;
  const double learning_rate_;
  const BootstrapSampler sampler_;
  const SplitChoice choice_;
  TreeColumns columns_;
  FitStatistics statistics_;
  ObliviousGrower grower_;
  std::optional<OverfittingDetector> detector_;
  std::optional<ColumnRules> rules_;
  std::optional<ModelShrinkage> shrinkage_;
  std::vector<std::vector<double>> fold_raws_;  // of the learning folds, where they are others
  std::vector<double> learn_raw_;               // of the averaging fold, and the model
  std::vector<double> test_raw_;
  std::vector<double> gradients_;
  std::vector<double> weights_;
  // Of a sample: the factors of rows, and what they make of gradients and weights.
  std::vector<float> factors_;
  std::vector<double> sampled_gradients_;
  std::vector<double> sampled_weights_;
};

}  // namespace

Result<FitResult> FitTrees(const FitParameters& parameters, const FitRows& learn,
                           const FitRows* test, const CategoryFeatures& categories, WorkPool& pool,
                           const FitRound& round, CatBoostModel* model) {
  return Fit(parameters, learn, test, categories, pool, model).Run(round);
}

}  // namespace strata
