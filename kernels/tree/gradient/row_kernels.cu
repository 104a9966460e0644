#include "kernels/core/math.h"
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/gradient/exact_sum.h"
#include "kernels/tree/gradient/row_kernels.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint64_t kRowsOfBlock = 2048;

__device__ GradientUnits UnitsOf(const TreeState& state, int64_t bins, int32_t levels) {
  const double gradient = __uint_as_float(state.largest.gradient);
  const double hessian = __uint_as_float(state.largest.hessian);
  if (bins > 0) {
    const auto count = static_cast<double>(bins);
    return {gradient > 0 ? gradient / (count / 2) : 1, hessian > 0 ? hessian / count : 1};
  }
  return {UnitFor(gradient, levels), UnitFor(hessian, levels)};
}

__device__ void AddToRoot(const TreeView& view, GradientSums sums, int64_t* of_warp) {
  sums.gradient = ShuffleReduceSum(sums.gradient, of_warp);
  sums.hessian = ShuffleReduceSum(sums.hessian, of_warp);
  if (threadIdx.x != 0) return;
  TreeState& state = *view.state;
  atomicAdd(&state.root_gradient, static_cast<unsigned long long>(sums.gradient));
  atomicAdd(&state.root_hessian, static_cast<unsigned long long>(sums.hessian));
}

// Puts a row's gradient at its place among the root's; its numbers.
struct Rounded {
  int32_t gradient;
  int32_t hessian;
};
__device__ void Store(const TreeView& view, const Rounded& rounded, uint64_t at) {
  if (view.is_wide) {
    view.gradients32[0][at] = {rounded.gradient, rounded.hessian};
  } else {
    view.gradients16[0][at] = PackRow16(rounded.gradient, rounded.hessian);
  }
}

// What QuantisedGradients does to a row.
__device__ Rounded Round(const Slope& slope, uint64_t row, bool to_nearest, uint64_t seed,
                         double gradient_scale, double hessian_scale) {
  const bool finite = math::IsFinite(slope.gradient) && math::IsFinite(slope.hessian);
  const double gradient = finite ? slope.gradient : 0;
  const double hessian = finite ? slope.hessian : 0;
  if (to_nearest) {
    return {RoundToUnits(gradient, gradient_scale, 0.5), RoundToUnits(hessian, hessian_scale, 0.5)};
  }
  const uint64_t bits = Mix64(seed ^ (row * 0x9e3779b97f4a7c15ULL));
  return {RoundToUnits(gradient, gradient_scale, static_cast<double>(bits >> 32) * 0x1p-32),
          RoundToUnits(hessian, hessian_scale, static_cast<double>(bits & 0xffffffff) * 0x1p-32)};
}

// Whether a row is in the bag.
__device__ bool IsIn(const BagView& bag, uint64_t row, uint64_t first_row) {
  if (bag.marks != nullptr) return bag.marks[row] != 0;
  const bool positive = bag.labels != nullptr && bag.labels[row] > 0;
  uint64_t drawn = first_row + row;
  if (bag.query_begins != nullptr) {  // a query is known by its first row
    uint32_t low = 0;
    for (uint32_t high = bag.queries; high - low > 1;) {
      const uint32_t middle = (low + high) / 2;
      (bag.query_begins[middle] <= drawn ? low : high) = middle;
    }
    drawn = bag.query_begins[low];
  }
  return RowUniform(bag.seed, drawn) < (positive ? bag.positive_share : bag.share);
}

__global__ void __launch_bounds__(kThreads)
    RoundAll(const __grid_constant__ TreeView view, const Slope* slopes, GpuRounding rounding,
             uint64_t seed, BagView bag) {
  __shared__ int64_t of_warp[kBlockWarpsMax];
  const unsigned lane = threadIdx.x % 32;
  TreeState& state = *view.state;
  const GradientUnits units = UnitsOf(state, rounding.bins, view.is_wide ? kLevels32 : kLevels16);
  const bool has_list = !bag.is_all || view.keeps_rows;
  const double gradient_scale = 1 / units.gradient;
  const double hessian_scale = 1 / units.hessian;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state.units = units;
    if (bag.is_all) state.bag_count = static_cast<uint32_t>(view.rows);
    state.rows_are_all = has_list ? 0 : 1;
  }
  GradientSums sums;
  for (uint64_t i = 0; i < kRowsOfBlock; i += kThreads) {
    const uint64_t row = blockIdx.x * kRowsOfBlock + i + threadIdx.x;
    const bool is_row = row < view.rows;
    bool is_in = is_row;
    uint64_t at = row;
    if (!bag.is_all) {
      is_in = is_row && IsIn(bag, row, view.first_row);
      const unsigned in = __ballot_sync(kWholeWarp, is_in);
      uint32_t begin = 0;
      if (lane == 0) begin = atomicAdd(&state.bag_count, static_cast<uint32_t>(__popc(in)));
      at = __shfl_sync(kWholeWarp, begin, 0) + __popc(in & ((1U << lane) - 1));
    }
    if (!is_in) continue;
    const Rounded rounded =
        Round(slopes[row], view.first_row + row, view.is_wide || !rounding.stochastic, seed,
              gradient_scale, hessian_scale);
    if (has_list) view.row_buffers[0][at] = static_cast<uint32_t>(row);
    Store(view, rounded, at);
    sums += {rounded.gradient, rounded.hessian};
  }
  AddToRoot(view, sums, of_warp);
}

__global__ void __launch_bounds__(kThreads)
    Gather(const __grid_constant__ TreeView view, const void* by_row, uint32_t count,
           GradientUnits units) {
  __shared__ int64_t of_warp[kBlockWarpsMax];
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    view.state->bag_count = count;
    view.state->units = units;
  }
  GradientSums sums;
  for (uint64_t i = 0; i < kRowsOfBlock; i += kThreads) {
    const uint64_t at = blockIdx.x * kRowsOfBlock + i + threadIdx.x;
    if (at >= count) break;
    const uint32_t row = view.row_buffers[0][at] - static_cast<uint32_t>(view.first_row);
    view.row_buffers[0][at] = row;
    if (view.is_wide) {
      const Row32 gradient = static_cast<const Row32*>(by_row)[row];
      view.gradients32[0][at] = gradient;
      sums += {gradient.gradient, gradient.hessian};
    } else {
      const uint32_t gradient = static_cast<const uint32_t*>(by_row)[row];
      view.gradients16[0][at] = gradient;
      const uint64_t widened = WidenRow16(gradient);
      sums += {GradientOf(widened), HessianOf(widened)};
    }
  }
  AddToRoot(view, sums, of_warp);
}

__global__ void __launch_bounds__(kThreads)
    Walk(const WalkNode* nodes, const uint32_t* sets, const double* values, uint64_t rows,
         double* scores) {
  const uint64_t row = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= rows) return;
  int32_t at = 0;
  while (at >= 0) {
    const WalkNode& node = nodes[at];
    const uint32_t bin = BinAt(node.bins, node.wide, row * node.row_stride);
    bool left = bin == node.missing_bin ? node.missing_left : bin <= node.threshold;
    if (node.set >= 0) left = (sets[node.set + bin / 32] >> (bin % 32) & 1) != 0;
    at = left ? node.left : node.right;
  }
  scores[row] += values[~at];
}

// Calls visit(row, segment) for the rows of this block's tile that are this thread's. The tile's
// leaf.
template <typename Visit>
__device__ uint32_t ForTile(const TreeView& view, const LeafSegment* segments, uint32_t count,
                            const Visit& visit) {
  uint32_t low = 0;
  for (uint32_t high = count; high - low > 1;) {
    const uint32_t middle = (low + high) / 2;
    (segments[middle].first_tile <= blockIdx.x ? low : high) = middle;
  }
  const LeafSegment segment = segments[low];
  const uint32_t begin = (blockIdx.x - segment.first_tile) * kSegmentTile;
  const uint32_t end = min(begin + kSegmentTile, segment.count);
  const uint32_t* const rows = view.row_buffers[segment.side] + segment.begin;
  for (uint32_t i = begin + threadIdx.x; i < end; i += kThreads) visit(rows[i], segment);
  return segment.leaf;
}

__global__ void __launch_bounds__(kThreads)
    MarkRows(const __grid_constant__ TreeView view, const LeafSegment* segments, uint32_t count,
             SegmentMark mark) {
  ForTile(view, segments, count, [&](uint32_t row, const LeafSegment& segment) {
    view.node_of[row] =
        static_cast<uint16_t>(mark == SegmentMark::kNode ? segment.node : segment.leaf);
  });
}

// A thread's sum in halves.
struct ThreadHalves {
  int64_t upper = 0;
  uint64_t lower = 0;

  __device__ void Add(float number, int exponent) {
    const int64_t rounded = ExactSum::Rounded(number, exponent);
    upper += rounded >> 32;
    lower += static_cast<uint32_t>(rounded);
  }
  __device__ void AddTo(long long* all_upper, unsigned long long* all_lower,
                        uint64_t* of_warp) const {
    const uint64_t upper_sum = ShuffleReduceSum(static_cast<uint64_t>(upper), of_warp);
    const uint64_t lower_sum = ShuffleReduceSum(lower, of_warp);
    if (threadIdx.x != 0) return;
    atomicAdd(reinterpret_cast<unsigned long long*>(all_upper),
              static_cast<unsigned long long>(upper_sum));
    atomicAdd(all_lower, static_cast<unsigned long long>(lower_sum));
  }
};

__global__ void __launch_bounds__(kThreads)
    SumLeaves(const __grid_constant__ TreeView view, const LeafSegment* segments, uint32_t count,
              const Slope* slopes, int gradient_exponent, int hessian_exponent,
              SlopeHalves* of_leaves) {
  __shared__ uint64_t of_warp[kBlockWarpsMax];
  ThreadHalves gradient;
  ThreadHalves hessian;
  const uint32_t leaf =
      ForTile(view, segments, count, [&](uint32_t row, const LeafSegment& /*segment*/) {
        gradient.Add(slopes[row].gradient, gradient_exponent);
        hessian.Add(slopes[row].hessian, hessian_exponent);
      });
  SlopeHalves& sums = of_leaves[leaf];
  gradient.AddTo(&sums.gradient_upper, &sums.gradient_lower, of_warp);
  hessian.AddTo(&sums.hessian_upper, &sums.hessian_lower, of_warp);
}

__global__ void __launch_bounds__(kThreads)
    AddValues(const uint16_t* node_of, const double* values, uint64_t rows, double* scores) {
  const uint64_t begin = blockIdx.x * kRowsOfBlock;
  for (uint64_t i = threadIdx.x; i < kRowsOfBlock && begin + i < rows; i += kThreads) {
    scores[begin + i] += values[node_of[begin + i]];
  }
}

}  // namespace

void RoundSlopes(const TreeView& view, const Slope* slopes, const GpuRounding& rounding,
                 uint64_t seed, const BagView& bag, cudaStream_t stream) {
  RoundAll<<<BlocksFor(view.rows, kRowsOfBlock), kThreads, 0, stream>>>(view, slopes, rounding,
                                                                        seed, bag);
}

void GatherGradients(const TreeView& view, const void* by_row, uint32_t count,
                     const GradientUnits& units, cudaStream_t stream) {
  Gather<<<BlocksFor(count, kRowsOfBlock), kThreads, 0, stream>>>(view, by_row, count, units);
}

void WalkRows(const WalkNode* nodes, const uint32_t* sets, const double* values, uint64_t rows,
              double* scores, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((rows + kThreads - 1) / kThreads);
  if (blocks > 0) Walk<<<blocks, kThreads, 0, stream>>>(nodes, sets, values, rows, scores);
}

void MarkSegments(const TreeView& view, const LeafSegment* segments, uint32_t count, uint32_t tiles,
                  SegmentMark mark, cudaStream_t stream) {
  if (tiles > 0) MarkRows<<<tiles, kThreads, 0, stream>>>(view, segments, count, mark);
}

void SumSegments(const TreeView& view, const LeafSegment* segments, uint32_t count, uint32_t tiles,
                 const Slope* slopes, int gradient_exponent, int hessian_exponent,
                 SlopeHalves* of_leaves, cudaStream_t stream) {
  if (tiles == 0) return;
  SumLeaves<<<tiles, kThreads, 0, stream>>>(view, segments, count, slopes, gradient_exponent,
                                            hessian_exponent, of_leaves);
}

void AddSegments(const TreeView& view, const LeafSegment* segments, uint32_t count, uint32_t tiles,
                 const double* values, double* scores, cudaStream_t stream) {
  MarkSegments(view, segments, count, tiles, SegmentMark::kNode, stream);
  AddValues<<<BlocksFor(view.rows, kRowsOfBlock), kThreads, 0, stream>>>(view.node_of, values,
                                                                         view.rows, scores);
}

}  // namespace strata::gpu_tree
