#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <limits>

#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/grow/leaf_percentiles.cuh"
#include "kernels/tree/metric/metric_kernels.cuh"
#include "kernels/tree/metric/score_curve.h"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kRowsMax = std::numeric_limits<int>::max() - 1;
constexpr const char* kWhat = "renewing leaves on the GPU";

__global__ void __launch_bounds__(kThreads)
    FillResiduals(uint32_t rows, const float* labels, ScoreView scores, uint64_t* keys,
                  uint32_t* row_numbers) {
  const uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  keys[row] = ~DescendingKey(ResidualOf(labels[row], scores.At(0, row)));
  row_numbers[row] = row;
}

__global__ void __launch_bounds__(kThreads) TakeLeaves(uint32_t rows, const uint32_t* by_residual,
                                                       const uint16_t* leaf_of, uint16_t* leaves) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < rows) leaves[i] = leaf_of[by_residual[i]];
}

// With a 0 behind them, where the sum of all comes to be.
__global__ void __launch_bounds__(kThreads)
    TakeWeights(uint32_t rows, LeafPercentile what, const uint32_t* by_leaf, const float* labels,
                const float* weights, uint64_t* taken) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i > rows) return;
  if (i == rows) {
    taken[i] = 0;
    return;
  }
  const uint32_t row = by_leaf[i];
  taken[i] = what.weights.Of(what.WeightOf(labels[row], weights == nullptr ? 1 : weights[row]));
}

__global__ void __launch_bounds__(kThreads)
    FindPercentiles(uint32_t leaves, LeafPercentile what, const uint32_t* begins,
                    const uint32_t* by_leaf, const float* labels, ScoreView scores,
                    const uint64_t* weights_before, double* outputs) {
  const uint32_t leaf = blockIdx.x * kThreads + threadIdx.x;
  if (leaf >= leaves) return;
  const uint32_t begin = begins[leaf];
  const uint32_t count = begins[leaf + 1] - begin;
  const auto value_at = [&](uint64_t i) {
    const uint32_t row = by_leaf[begin + i];
    return ResidualOf(labels[row], scores.At(0, row));
  };
  const auto sum_at = [&](uint64_t i) {
    return weights_before[begin + i + 1] - weights_before[begin];
  };
  outputs[leaf] = what.is_weighted ? WeightedPercentileOfSorted(count, what.share, what.weights,
                                                                value_at, sum_at)
                                   : PercentileOfSorted(count, what.share, value_at);
}

}  // namespace

Status LeafPercentiles::Start(std::span<const float> labels, std::span<const float> weights,
                              size_t leaves_max, cudaStream_t stream) {
  row_count_ = labels.size();
  if (row_count_ > kRowsMax) {
    return Refused(
        fmt::format("{}: {} rows: expected at most {}", kWhat, row_count_, size_t{kRowsMax}));
  }
  STRATA_TRY(labels_.Make(row_count_, kWhat));
  STRATA_TRY(labels_.Set(labels, stream));
  if (!weights.empty()) {
    STRATA_TRY(weights_.Make(row_count_, kWhat));
    STRATA_TRY(weights_.Set(weights, stream));
  }
  STRATA_TRY(leaf_of_.Make(row_count_, kWhat));
  for (int side = 0; side < 2; ++side) {
    STRATA_TRY(keys_[side].Make(row_count_ + 1, kWhat));
    STRATA_TRY(rows_[side].Make(row_count_, kWhat));
    STRATA_TRY(leaf_keys_[side].Make(row_count_, kWhat));
  }
  STRATA_TRY(begins_.Make(leaves_max + 1, kWhat));
  STRATA_TRY(outputs_.Make(leaves_max, kWhat));
  size_t most = 0;
  size_t bytes = 0;
  STRATA_TRY(SortByResidual(nullptr, &bytes, stream));
  most = std::max(most, bytes);
  STRATA_TRY(SortByLeaf(nullptr, &bytes, leaves_max, stream));
  most = std::max(most, bytes);
  STRATA_TRY(AddUpWeights(nullptr, &bytes, row_count_, stream));
  STRATA_TRY(scratch_.Make(std::max(most, bytes), kWhat));
  return FromCuda(cudaStreamSynchronize(stream), kWhat);
}

// Without scratch, these three say how much of it they need.
Status LeafPercentiles::SortByResidual(void* scratch, size_t* bytes, cudaStream_t stream) {
  cub::DoubleBuffer<uint64_t> keys(keys_[0].data(), keys_[1].data());
  cub::DoubleBuffer<uint32_t> rows(rows_[0].data(), rows_[1].data());
  STRATA_TRY(FromCuda(cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, rows,
                                                      static_cast<int>(row_count_), 0, 64, stream),
                      kWhat));
  residual_side_ = rows.selector;
  return {};
}

Status LeafPercentiles::SortByLeaf(void* scratch, size_t* bytes, size_t leaves,
                                   cudaStream_t stream) {
  const int from = residual_side_;
  cub::DoubleBuffer<uint16_t> keys(leaf_keys_[0].data(), leaf_keys_[1].data());
  cub::DoubleBuffer<uint32_t> rows(rows_[from].data(), rows_[1 - from].data());
  const int bits = std::bit_width(leaves);  // the largest of these, kNoLeaf's, is above all leaves
  STRATA_TRY(
      FromCuda(cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, rows,
                                               static_cast<int>(row_count_), 0, bits, stream),
               kWhat));
  leaf_side_ = rows.selector == 0 ? from : 1 - from;
  return {};
}

Status LeafPercentiles::AddUpWeights(void* scratch, size_t* bytes, size_t rows,
                                     cudaStream_t stream) {
  uint64_t* const sums = keys_[0].data();
  return FromCuda(cub::DeviceScan::ExclusiveSum(scratch, *bytes, sums, sums,
                                                static_cast<int>(rows + 1), stream),
                  kWhat);
}

Result<std::vector<double>> LeafPercentiles::Find(const GrownTree& tree, const ScoreView& scores,
                                                  cudaStream_t stream) {
  const size_t leaves = tree.leaves.size();
  STRATA_CHECK(leaves <= outputs_.size());
  std::vector<uint32_t> begins;
  for (const GrownLeaf& leaf : tree.leaves) begins.push_back(static_cast<uint32_t>(leaf.begin));
  begins.push_back(static_cast<uint32_t>(tree.leaves.back().begin + tree.leaves.back().count));
  STRATA_TRY(begins_.Set(begins, stream));
  const auto rows = static_cast<uint32_t>(row_count_);
  const unsigned blocks = BlocksFor(row_count_ + 1, kThreads);
  FillResiduals<<<blocks, kThreads, 0, stream>>>(rows, labels_.data(), scores, keys_[0].data(),
                                                 rows_[0].data());
  size_t bytes = scratch_.size();
  STRATA_TRY(SortByResidual(scratch_.data(), &bytes, stream));
  TakeLeaves<<<blocks, kThreads, 0, stream>>>(rows, by_residual(), leaf_of_.data(),
                                              leaf_keys_[0].data());
  bytes = scratch_.size();
  STRATA_TRY(SortByLeaf(scratch_.data(), &bytes, leaves, stream));
  if (what_.is_weighted) {
    TakeWeights<<<blocks, kThreads, 0, stream>>>(begins.back(), what_, by_leaf(), labels_.data(),
                                                 weights(), keys_[0].data());
    bytes = scratch_.size();
    STRATA_TRY(AddUpWeights(scratch_.data(), &bytes, begins.back(), stream));
  }
  FindPercentiles<<<BlocksFor(leaves, kThreads), kThreads, 0, stream>>>(
      static_cast<uint32_t>(leaves), what_, begins_.data(), by_leaf(), labels_.data(), scores,
      keys_[0].data(), outputs_.data());
  STRATA_TRY(FromCuda(cudaGetLastError(), kWhat));
  std::vector<double> outputs(leaves);
  STRATA_TRY(outputs_.Get(outputs, stream));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), kWhat));
  return outputs;
}

}  // namespace strata::gpu_tree
