#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr size_t kBlockColumnsMin = 4;  // fewer make too little of reading a row

}  // namespace

void ObliviousGrower::Begin(std::span<const double> gradients, std::span<const double> weights) {
  rows_.Round(gradients, weights, pool_);
  leaves_.Begin(rows_);
  columns_.clear();
  blocks_used_ = 0;
  splits_.clear();
  redundant_.reset();
}

// As many blocks as threads, where they are neither too wide nor too narrow then.
void ObliviousGrower::AddBlocks(std::span<const GrowColumn> columns, bool are_fixed) {
  if (columns.empty()) return;
  const size_t of_thread = (columns.size() + pool_.threads() - 1) / pool_.threads();
  const size_t width = std::clamp(of_thread, kBlockColumnsMin, ColumnBlock::kColumnsMax);
  const size_t count = (columns.size() + width - 1) / width;
  blocks_.resize(std::max(blocks_.size(), blocks_used_ + count));
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * columns.size() / count;
    const size_t end = (i + 1) * columns.size() / count;
    Block& block = blocks_[blocks_used_++];
    block.first_column = columns_.size() + begin;
    block.columns = end - begin;
    block.block.SetColumns(columns.subspan(begin, end - begin), are_fixed, pool_);
  }
  columns_.insert(columns_.end(), columns.begin(), columns.end());
}

void ObliviousGrower::SetGradients(std::span<const double> gradients,
                                   std::span<const double> weights) {
  rows_.Round(gradients, weights, pool_);
  leaves_.SetGradients(rows_);
  for (size_t i = 0; i < blocks_used_; ++i) blocks_[i].block.ForgetHistograms();
}

const LevelScores& ObliviousGrower::Score() {
  scores_.resize(columns_.size());
  const bool keeps = KeepsHistograms();
  std::vector<int8_t> directions;
  for (const GrowSplit& split : splits_) directions.push_back(columns_[split.column].direction);
  pool_.Run(blocks_used_, [&](size_t i) {
    Block& block = blocks_[i];
    block.block.Score(leaves_, rows_, rule_, directions, keeps,
                      std::span(scores_).subspan(block.first_column, block.columns));
  });
  return scores_;
}

// For the next level, if there is one.
bool ObliviousGrower::KeepsHistograms() const {
  if (levels() + 1 >= rule_.levels_max) return false;
  size_t sums = 0;
  for (size_t i = 0; i < blocks_used_; ++i) sums += blocks_[i].block.histogram_size();
  return sums * rows_.outputs() * leaves_.leaves() <= kept_bytes_max_ / sizeof(GradientSums);
}

bool ObliviousGrower::Split(const GrowSplit& split) {
  leaves_.Split(columns_[split.column], split.place);
  splits_.push_back(split);
  redundant_ = RedundantSplit(leaves_.counts());
  if (!redundant_.has_value()) return true;
  splits_.erase(splits_.begin() + static_cast<ptrdiff_t>(*redundant_));
  return false;
}

GrownObliviousTree ObliviousGrower::Take() {
  return {std::exchange(splits_, {}), leaves_.Numbers(redundant_)};
}

}  // namespace strata
