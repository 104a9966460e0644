#include "worker/gbdt/grower/leaf_work.h"

#include <algorithm>

namespace strata {

void LeafWork::Start(std::span<const uint32_t> bag, const FixedGradients& by_row) {
  size_ = bag.size();
  if (gpu_ == nullptr) return rows_.Start(bag, by_row);
  const Result<GradientSums> sum = gpu_->Start(bag, by_row);
  Keep(sum.status());
  gpu_sum_ = sum.ok() ? *sum : GradientSums{};
}

GradientSums LeafWork::Sum() const { return gpu_ == nullptr ? rows_.Sum() : gpu_sum_; }

std::vector<int64_t> LeafWork::Split(std::span<const LeafSplit> leaves) {
  std::vector<int64_t> left(leaves.size(), 0);
  if (gpu_ != nullptr) {
    if (status_.ok()) Keep(gpu_->Split(leaves, left));
    return left;
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto& [leaf, split] = leaves[i];
    const auto feature = static_cast<size_t>(split->feature);
    left[i] = static_cast<int64_t>(rows_.Split(
        bins_.column(feature), SplitSides(shapes_[feature], *split).OfColumn(bins_, feature),
        leaf.begin, leaf.count));
  }
  return left;
}

void LeafWork::Build(std::span<const LeafHistogram> leaves, std::span<const uint8_t> block_used,
                     std::span<const uint8_t> finished) {
  if (gpu_ != nullptr) {
    if (status_.ok()) Keep(gpu_->Build(leaves));
    return;
  }
  for (const auto& [leaf, histogram] : leaves) {
    builder_.Build(rows_.RowsOf(leaf.begin, leaf.count), rows_.GradientsOf(leaf.begin, leaf.count),
                   block_used, histogram);
    pool_.Run(finished.size(), [&, sums = histogram](size_t f) {
      if (finished[f] != 0) builder_.Finish(bins_.histogram_begin(f), bins_.bins(f), sums);
    });
  }
}

std::vector<GradientSums> LeafWork::SumsOf(const LeafPlace& leaf, size_t feature) {
  std::vector<GradientSums> sums(shapes_[feature].bins);
  if (gpu_ != nullptr) {
    std::vector<GradientSums> all(bins_.histogram_bins());
    const LeafHistogram wanted = {.leaf = leaf, .histogram = all};
    Build({&wanted, 1}, {}, {});
    std::copy_n(all.begin() + static_cast<ptrdiff_t>(bins_.histogram_begin(feature)), sums.size(),
                sums.begin());
    return sums;
  }
  const std::span<const uint32_t> rows = rows_.RowsOf(leaf.begin, leaf.count);
  const FixedGradients gradients = rows_.GradientsOf(leaf.begin, leaf.count);
  for (size_t i = 0; i < rows.size(); ++i) {
    sums[bins_.BinAt(feature, rows[i])] += gradients.Row(i);
  }
  return sums;
}

void LeafWork::Settle(std::span<const GrownLeaf> leaves) {
  if (gpu_ == nullptr) {
    pool_.Run(leaves.size(),
              [&](size_t leaf) { rows_.Settle(leaves[leaf].begin, leaves[leaf].count); });
    return;
  }
  std::vector<LeafPlace> places;
  for (const GrownLeaf& leaf : leaves) places.push_back({leaf.begin, leaf.count});
  if (status_.ok()) Keep(gpu_->Fetch(places, &gpu_rows_));
  gpu_rows_.resize(size_);
  pool_.Run(places.size(), [&](size_t leaf) { Ascend(places[leaf].begin, places[leaf].count); });
}

void LeafWork::Ascend(size_t begin, size_t count) {
  if (gpu_ == nullptr) return rows_.Ascend(begin, count);
  const auto first = gpu_rows_.begin() + static_cast<ptrdiff_t>(begin);
  std::sort(first, first + static_cast<ptrdiff_t>(count));
}

std::span<const uint32_t> LeafWork::settled() const {
  return gpu_ == nullptr ? rows_.settled() : std::span<const uint32_t>(gpu_rows_);
}

}  // namespace strata
