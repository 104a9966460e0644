// Data-parallel: a leaf's histogram is reduce-scattered, so that each rank has the sums over all
// ranks of its own features, which it searches (LightGBM's data_parallel_tree_learner).
#include <algorithm>
#include <limits>

#include "worker/gbdt/grower/group_exchange.h"

namespace strata {
namespace {

class DataParallel : public GroupExchange {
 public:
  DataParallel(Group& group, const BinMatrix& bins, std::span<const FeatureShape> shapes,
               int64_t levels)
      : GroupExchange(group, bins, shapes), levels_(levels) {}

  void Sum(std::span<int64_t> numbers) override {
    if (status().ok()) Keep(group_.Allreduce(numbers, ReduceOp::kSum));
  }

  bool sums_histograms() const override { return true; }

  // The widest sum there can be is that of all rows at the largest number of a row: where that fits
  // fewer bits, so do all partial sums.
  void SumHistograms(std::span<const SummedLeaf> leaves) override {
    if (!status().ok() || leaves.empty()) return;
    int64_t rows = 0;
    for (const SummedLeaf& leaf : leaves) rows = std::max(rows, leaf.rows);
    const auto fits = [&](int64_t most) { return levels_ > 0 && rows <= most / levels_; };
    if (fits(std::numeric_limits<int16_t>::max())) return SumAs(leaves, &packed16_);
    if (fits(std::numeric_limits<int32_t>::max())) return SumAs(leaves, &packed32_);
    SumAs(leaves, &packed64_);
  }

 private:
  template <typename T>
  void SumAs(std::span<const SummedLeaf> leaves, std::vector<T>* packed) {
    packed->clear();
    std::vector<size_t> counts;
    for (size_t r = 0; r < owners_.ranks(); ++r) {
      const size_t before = packed->size();
      for (const SummedLeaf& leaf : leaves) {
        for (const size_t feature : owners_.Of(r)) Pack(BinsOf(feature, leaf.histogram), packed);
      }
      counts.push_back(packed->size() - before);
    }
    const Result<std::span<T>> own =
        group_.ReduceScatter(std::span<T>(*packed), ReduceOp::kSum, counts);
    if (!Keep(own.status())) return;
    size_t at = 0;
    for (const SummedLeaf& leaf : leaves) {
      for (const size_t feature : owners_.Of(rank())) {
        for (GradientSums& bin : BinsOf(feature, leaf.histogram)) {
          bin = {(*own)[at], (*own)[at + 1]};
          at += 2;
        }
      }
    }
  }

  template <typename T>
  static void Pack(std::span<const GradientSums> bins, std::vector<T>* packed) {
    for (const GradientSums& bin : bins) {
      packed->push_back(static_cast<T>(bin.gradient));
      packed->push_back(static_cast<T>(bin.hessian));
    }
  }

  std::span<GradientSums> BinsOf(size_t feature, std::span<GradientSums> histogram) const {
    return histogram.subspan(bins_.histogram_begin(feature), bin_counts_[feature]);
  }

  const int64_t levels_;
  std::vector<int16_t> packed16_;
  std::vector<int32_t> packed32_;
  std::vector<int64_t> packed64_;
};

}  // namespace

std::unique_ptr<Exchange> MakeDataParallel(Group& group, const BinMatrix& bins,
                                           std::span<const FeatureShape> shapes, int64_t levels) {
  return std::make_unique<DataParallel>(group, bins, shapes, levels);
}

}  // namespace strata
