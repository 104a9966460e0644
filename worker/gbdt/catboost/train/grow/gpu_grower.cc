#include "worker/gbdt/catboost/train/grow/gpu_grower.h"

#include <utility>

#include "worker/gbdt/catboost/train/grow/monotone_scores.h"

namespace strata {

Status GpuGrower::Begin(std::span<const double> gradients, std::span<const double> weights) {
  StartTree(false);
  return gpu_->Begin(Round(gradients, weights));
}

Status GpuGrower::BeginFromRows() {
  StartTree(true);
  return gpu_->BeginFromRows();
}

Result<bool> GpuGrower::BeginFromSample(const RowDraw& sample) {
  StartTree(true);
  return gpu_->BeginFromSample(sample);
}

void GpuGrower::StartTree(bool is_resident) {
  is_resident_ = is_resident;
  columns_.clear();
  splits_.clear();
  redundant_.reset();
}

ObliviousGradients GpuGrower::Round(std::span<const double> gradients,
                                    std::span<const double> weights) {
  rows_.Round(gradients, weights, pool_);
  return {.rows = rows_.all(),
          .units = rows_.all_units(),
          .has_unit_weights = rows_.has_unit_weights()};
}

Status GpuGrower::Add(std::span<const GrowColumn> columns, bool are_fixed) {
  columns_.insert(columns_.end(), columns.begin(), columns.end());
  return gpu_->AddColumns(columns, are_fixed);
}

Status GpuGrower::SetGradients(std::span<const double> gradients, std::span<const double> weights) {
  return gpu_->SetGradients(Round(gradients, weights));
}

Result<const LevelScores*> GpuGrower::Score() {
  STRATA_TRY(gpu_->Score(&scores_));
  STRATA_TRY(ScoreMonotone());
  return &scores_;
}

// Of columns whose splits are bound the CPU makes the scores, from histograms of the GPU.
Status GpuGrower::ScoreMonotone() {
  std::vector<int8_t> directions;
  for (const GrowSplit& split : splits_) directions.push_back(columns_[split.column].direction);
  std::vector<GradientSums> histograms;
  GradientUnits units;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const GrowColumn& column = columns_[c];
    if (!MonotoneScores::AreNeeded(directions, column)) continue;
    STRATA_TRY(gpu_->Histograms(c, &histograms, &units));
    MonotoneScores scores(directions, column);
    for (size_t leaf = 0; leaf < size_t{1} << levels(); ++leaf) {
      scores.Set(leaf, histograms.data() + leaf * (column.splits + 1), units);
    }
    scores.Finish(rule_.is_cosine, rule_.l2, scores_[c]);
  }
  return {};
}

Result<bool> GpuGrower::Split(const GrowSplit& split) {
  STRATA_TRY(gpu_->Split(split, &counts_));
  return AddSplit(split);
}

bool GpuGrower::AddSplit(const GrowSplit& split) {
  splits_.push_back(split);
  redundant_ = RedundantSplit(counts_);
  if (!redundant_.has_value()) return true;
  splits_.erase(splits_.begin() + static_cast<ptrdiff_t>(*redundant_));
  return false;
}

Status GpuGrower::Grow() {
  std::vector<GrownLevel> levels;
  STRATA_TRY(gpu_->Grow(&levels));
  for (GrownLevel& level : levels) {
    counts_ = std::move(level.counts);
    if (!AddSplit(level.split)) break;
  }
  return {};
}

Result<GrownObliviousTree> GpuGrower::Take() {
  const size_t found = splits_.size() + (redundant_.has_value() ? 1 : 0);
  STRATA_TRY(gpu_->EndTree(found, redundant_));
  GrownObliviousTree tree = {std::exchange(splits_, {}), {}};
  if (is_resident_) return tree;
  tree.leaves.resize(row_count_);
  STRATA_TRY(gpu_->Leaves(tree.leaves));
  return tree;
}

}  // namespace strata
