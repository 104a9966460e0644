#include "worker/gbdt/catboost/train/tree_search.h"

#include <utility>

#include "worker/gbdt/catboost/train/grow/gpu_grower.h"
#include "worker/gbdt/catboost/train/leaf_values.h"
#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {

TreeSearch::TreeSearch(const FitParameters& parameters, const FitRows& learn, double l2,
                       double learning_rate, const CatBoostModel& model, FitStatistics* statistics,
                       WorkPool& pool, const std::function<Status()>& check)
    : p_(parameters),
      learn_(learn),
      learning_rate_(learning_rate),
      model_(model),
      statistics_(*statistics),
      pool_(pool),
      check_(check),
      sampler_(p_.sampling, p_.random_seed, learn.rows()),
      choice_(p_.random_seed, p_.rsm, pool),
      columns_(FeatureColumns(model, learn)),
      score_rule_({.is_cosine = p_.score == ScoreFunction::kCosine ||
                                p_.score == ScoreFunction::kNewtonCosine,
                   .l2 = l2,
                   .levels_max = p_.depth}),
      weights_(learn.rows()) {}

Status TreeSearch::Begin() {
  STRATA_ASSIGN(const std::vector<double> directions, Directions(p_.features, model_));
  for (size_t column = 0; column < columns_.columns.size(); ++column) {
    columns_.columns[column].direction = static_cast<int8_t>(directions[columns_.features[column]]);
  }
  STRATA_ASSIGN(rules_, ColumnRules::Make(p_.features, model_));
  STRATA_ASSIGN(grower_, TreeGrower::Make(p_.device, learn_.rows(), score_rule_, pool_));
  return {};
}

Result<ObliviousTree> TreeSearch::Grow(size_t fold, std::span<const double> raw) {
  const size_t trees = model_.trees.size();
  TreeLevel level;
  level.tree = trees;
  STRATA_ASSIGN(const double squares, raw.empty() ? BeginOnGpu() : Begin(raw));
  if (p_.random_strength != 0) {
    level.deviation = NoiseDeviation(p_.random_strength, squares, learn_.rows(),
                                     learning_rate_ * static_cast<double>(trees));
  }
  STRATA_TRY(grower_->AddFixedColumns(columns_.columns));
  TreeCtrs ctrs = statistics_.StartTree(fold, columns_.columns.size());
  if (raw.empty() && TakesLargest()) {
    STRATA_TRY(check_());
    STRATA_TRY(grower_->gpu()->Grow());
    return Finish(&ctrs);
  }
  for (; grower_->levels() < p_.depth; ++level.level) {
    STRATA_TRY(check_());
    if (level.level > 0 && p_.sampling.is_per_level && sampler_.is_active()) {
      STRATA_TRY(Resample(level.level, raw.empty()));
    }
    STRATA_TRY(grower_->AddColumns(ctrs.NextLevel()));
    STRATA_ASSIGN(const LevelScores* const scores, grower_->Score());
    const auto best = choice_.Choose(level, *scores, LevelRules(ctrs));
    if (!best.has_value()) break;
    if (rules_->is_active()) {
      rules_->Use(FeaturesOf(best->split.column, ctrs));
      level.score_before = best->score;
    }
    ctrs.AddSplit(ModelSplit(best->split, &ctrs));
    STRATA_ASSIGN(const bool goes_on, grower_->Split(best->split));
    if (!goes_on) break;
  }
  return Finish(&ctrs);
}

bool TreeSearch::TakesLargest() const {
  return p_.random_strength == 0 && p_.rsm == 1 && !p_.sampling.is_per_level &&
         !rules_->is_active() && p_.features.directions.empty() && !statistics_.HasCategories();
}

Result<double> TreeSearch::Begin(std::span<const double> raw) {
  gradients_.resize(raw.size());
  DeriveRows(p_, learn_, raw, pool_, gradients_, weights_);
  STRATA_ASSIGN(const SplitRows rows, SampleRows(0));
  STRATA_TRY(grower_->Begin(rows.gradients, rows.weights));
  if (p_.random_strength == 0) return 0.0;
  return SumRows(gradients_.size(), pool_, [&](size_t i) { return gradients_[i] * gradients_[i]; });
}

Result<double> TreeSearch::BeginOnGpu() {
  if (sampler_.is_active()) {
    STRATA_ASSIGN(const RowDraw sample, SampleOnGpu(0));
    STRATA_ASSIGN(const bool has_rows, grower_->gpu()->BeginFromSample(sample));
    if (!has_rows) return sampler_.NoRows(learn_.rows());
  } else {
    STRATA_TRY(grower_->gpu()->BeginFromRows());
  }
  if (p_.random_strength == 0) return 0.0;
  return grower_->gpu()->device().SumSquares();
}

std::span<const double> TreeSearch::LastLeaves() const {
  return model_.trees.empty() ? std::span<const double>() : model_.trees.back().values;
}

Result<RowDraw> TreeSearch::SampleOnGpu(size_t level) {
  std::optional<double> reg = sampler_.MvsReg(LastLeaves(), 1);
  if (!reg.has_value()) {
    STRATA_ASSIGN(const double sum, grower_->gpu()->device().SumSizes());
    reg = BootstrapSampler::MvsRegOfMean(sum / static_cast<double>(learn_.rows()));
  }
  return sampler_.SampleOf(sampler_.DrawSeed(model_.trees.size(), level), *reg);
}

// From the next level on.
Status TreeSearch::Resample(size_t level, bool is_on_gpu) {
  if (!is_on_gpu) {
    STRATA_ASSIGN(const SplitRows rows, SampleRows(level));
    return grower_->SetGradients(rows.gradients, rows.weights);
  }
  STRATA_ASSIGN(const RowDraw sample, SampleOnGpu(level));
  STRATA_ASSIGN(const bool has_rows, grower_->gpu()->device().Resample(sample));
  return has_rows ? Status() : sampler_.NoRows(learn_.rows());
}

Result<ObliviousTree> TreeSearch::Finish(TreeCtrs* ctrs) {
  STRATA_ASSIGN(GrownObliviousTree grown, grower_->Take());
  ObliviousTree tree;
  tree.leaves = std::move(grown.leaves);
  for (const GrowSplit& split : grown.splits) {
    tree.splits.push_back(ModelSplit(split, ctrs));
    if (p_.features.directions.empty()) continue;
    tree.directions.push_back(IsFixed(split.column) ? columns_.columns[split.column].direction
                                                    : int8_t{0});
  }
  return tree;
}

Result<TreeSearch::SplitRows> TreeSearch::SampleRows(size_t level) {
  if (!sampler_.is_active()) return SplitRows{gradients_, weights_};
  const size_t count = learn_.rows();
  factors_.resize(count);
  STRATA_TRY(sampler_.Draw(model_.trees.size(), level, gradients_, LastLeaves(), pool_, factors_));
  sampled_gradients_.resize(gradients_.size());
  sampled_weights_.resize(count);
  pool_.RunPieces(count, FitPiece(count), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      for (size_t at = row; at < gradients_.size(); at += count) {
        sampled_gradients_[at] = gradients_[at] * factors_[row];
      }
      sampled_weights_[row] = weights_[row] * factors_[row];
    }
  });
  return SplitRows{sampled_gradients_, sampled_weights_};
}

std::vector<uint32_t> TreeSearch::FeaturesOf(size_t column, const TreeCtrs& ctrs) const {
  if (IsFixed(column)) return {columns_.features[column]};
  return ctrs.FeaturesOf(column);
}

uint32_t TreeSearch::ModelSplit(const GrowSplit& split, TreeCtrs* ctrs) const {
  return IsFixed(split.column) ? columns_.ModelSplit(split) : ctrs->ModelSplit(split);
}

// One for each column of the tree.
std::vector<ColumnRule> TreeSearch::LevelRules(const TreeCtrs& ctrs) const {
  std::vector<ColumnRule> rules(columns_.columns.size() + ctrs.columns());
  if (rules_->is_active()) {
    for (size_t column = 0; column < rules.size(); ++column) {
      rules[column] = rules_->Of(FeaturesOf(column, ctrs));
    }
  }
  ctrs.SetFactors(rules);
  return rules;
}

}  // namespace strata
