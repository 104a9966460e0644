// Areas under curves over thresholds of the score, of rows that are sorted by it.
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/metric/metric_kernels.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint32_t kRowsOfThread = kCurveTile / kThreads;
constexpr uint32_t kNegative = 1U << 31;

__device__ uint32_t WithSide(const float* weights, uint64_t row, bool positive) {
  const float weight = weights == nullptr ? 1 : weights[row];
  return __float_as_uint(weight) | (positive ? 0 : kNegative);
}

__global__ void __launch_bounds__(kThreads)
    Fill(uint64_t rows, const double* scores, const float* labels, const float* weights,
         CurveRoom room) {
  const uint64_t row = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= rows) return;
  room.keys[row] = DescendingKey(scores[row]);
  room.weights[row] = WithSide(weights, row, labels[row] > 0);
}

// In any order: sums of rows with one score do not depend on it.
__global__ void __launch_bounds__(kThreads)
    FillTwo(uint64_t rows, ClassPair pair, const double* scores, const float* labels,
            const float* weights, CurveRoom room, uint32_t* filled) {
  const uint64_t row = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint32_t label = row < rows ? static_cast<uint32_t>(labels[row]) : ~0U;
  const bool is_in = label == pair.first || label == pair.second;
  const unsigned in = __ballot_sync(kWholeWarp, is_in);
  const unsigned lane = threadIdx.x % kWarpLanes;
  uint32_t begin = 0;
  if (lane == 0 && in != 0) begin = atomicAdd(filled, static_cast<uint32_t>(__popc(in)));
  const uint32_t at = __shfl_sync(kWholeWarp, begin, 0) + __popc(in & ((1U << lane) - 1));
  if (!is_in) return;
  room.keys[at] = DescendingKey(scores[pair.first * rows + row] - scores[pair.second * rows + row]);
  room.weights[at] = WithSide(weights, row, label == pair.first);
}

// A thread's rows of a tile, and where they lie among the block's.
struct ThreadRows {
  uint64_t first;
  CurvePoint before = {};  // in the tile
  uint32_t ends_before = 0;
  CurvePoint all = {};  // of the tile
  uint32_t ends = 0;

  __device__ static bool IsEnd(const CurveRoom& sorted, uint64_t rows, uint64_t row) {
    return row + 1 == rows || sorted.keys[row] != sorted.keys[row + 1];
  }

  // visit(point, number): the sums in the tile at each end of a run of equal scores.
  template <typename Visit>
  __device__ void ForEnds(const CurveRoom& sorted, uint64_t rows, const ExactUnits& weights,
                          const Visit& visit) const {
    CurvePoint sums = before;
    uint32_t end = ends_before;
    for (uint32_t i = 0; i < kRowsOfThread && first + i < rows; ++i) {
      Add(sorted, first + i, weights, &sums);
      if (IsEnd(sorted, rows, first + i)) visit(sums, end++);
    }
  }

  __device__ ThreadRows(const CurveRoom& sorted, uint64_t rows, const ExactUnits& weights,
                        uint64_t* of_warp)
      : first(blockIdx.x * kCurveTile + threadIdx.x * kRowsOfThread) {
    CurvePoint own = {};
    uint64_t own_ends = 0;
    for (uint32_t i = 0; i < kRowsOfThread && first + i < rows; ++i) {
      Add(sorted, first + i, weights, &own);
      own_ends += IsEnd(sorted, rows, first + i) ? 1 : 0;
    }
    before.positive = ShufflePrefixSum(own.positive, of_warp, &all.positive) - own.positive;
    before.negative = ShufflePrefixSum(own.negative, of_warp, &all.negative) - own.negative;
    uint64_t all_ends = 0;
    ends_before = static_cast<uint32_t>(ShufflePrefixSum(own_ends, of_warp, &all_ends) - own_ends);
    ends = static_cast<uint32_t>(all_ends);
  }

 private:
  __device__ static void Add(const CurveRoom& sorted, uint64_t row, const ExactUnits& weights,
                             CurvePoint* sums) {
    const uint32_t bits = sorted.weights[row];
    const uint64_t weight = weights.Of(__uint_as_float(bits & ~kNegative));
    ((bits & kNegative) == 0 ? sums->positive : sums->negative) += weight;
  }
};

__global__ void __launch_bounds__(kThreads)
    SumTilesKernel(CurveRoom sorted, uint64_t rows, ExactUnits weights, CurveTiles tiles) {
  __shared__ uint64_t of_warp[kBlockWarpsMax];
  const ThreadRows own(sorted, rows, weights, of_warp);
  own.ForEnds(sorted, rows, weights, [&](const CurvePoint& sums, uint32_t end) {
    if (end + 1 == own.ends) tiles.at_last_end[blockIdx.x] = sums;
  });
  if (threadIdx.x != 0) return;
  tiles.has_end[blockIdx.x] = own.ends > 0 ? 1 : 0;
  tiles.positive[blockIdx.x] = own.all.positive;
  tiles.negative[blockIdx.x] = own.all.negative;
  if (blockIdx.x != gridDim.x - 1) return;
  tiles.positive[gridDim.x] = 0;  // the sum of all comes to be here
  tiles.negative[gridDim.x] = 0;
}

// The sums at the last end of a run before a tile; by a warp.
__device__ CurvePoint LastEndBefore(const CurveTiles& tiles, uint32_t tile) {
  const unsigned lane = threadIdx.x % kWarpLanes;
  for (uint32_t end = tile; end > 0; end -= end < kWarpLanes ? end : kWarpLanes) {
    const unsigned have =
        __ballot_sync(kWholeWarp, lane < end && tiles.has_end[end - 1 - lane] != 0);
    if (have == 0) continue;
    const uint32_t at = end - static_cast<uint32_t>(__ffs(static_cast<int>(have)));
    const CurvePoint& within = tiles.at_last_end[at];
    return {tiles.positive[at] + within.positive, tiles.negative[at] + within.negative};
  }
  return {};
}

__global__ void __launch_bounds__(kThreads)
    AddAreasKernel(CurveArea area, CurveRoom sorted, uint64_t rows, ExactUnits weights,
                   CurveTiles tiles, CurveTotal* total) {
  __shared__ uint64_t of_warp[kBlockWarpsMax];
  __shared__ CurvePoint points[kCurveTile + 1];  // at ends, the last one before the tile first
  const CurvePoint all{tiles.positive[gridDim.x], tiles.negative[gridDim.x]};
  if (blockIdx.x == 0 && threadIdx.x == 0) total->all = all;
  const ThreadRows own(sorted, rows, weights, of_warp);
  if (own.ends == 0) return;
  if (threadIdx.x < kWarpLanes) {
    const CurvePoint last = LastEndBefore(tiles, blockIdx.x);
    if (threadIdx.x == 0) points[0] = last;
  }
  const CurvePoint before{tiles.positive[blockIdx.x], tiles.negative[blockIdx.x]};
  own.ForEnds(sorted, rows, weights, [&](const CurvePoint& sums, uint32_t end) {
    points[end + 1] = {before.positive + sums.positive, before.negative + sums.negative};
  });
  __syncthreads();
  WideArea roc = 0;
  uint64_t precision = 0;
  for (uint32_t end = threadIdx.x; end < own.ends; end += kThreads) {
    if (area == CurveArea::kRoc) {
      roc += RocArea(points[end], points[end + 1]);
    } else {
      precision += static_cast<uint64_t>(PrecisionArea(points[end], points[end + 1], all.positive));
    }
  }
  for (int part = 0; part < 4; ++part) {
    const uint64_t sum =
        ShuffleReduceSum(static_cast<uint64_t>(static_cast<uint32_t>(roc)), of_warp);
    if (threadIdx.x == 0) atomicAdd(&total->roc[part], static_cast<unsigned long long>(sum));
    roc >>= 32;
  }
  precision = ShuffleReduceSum(precision, of_warp);
  if (threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&total->precision),
              static_cast<unsigned long long>(precision));
  }
}

}  // namespace

double CurveTotal::Value(CurveArea area) const {
  if (area == CurveArea::kPrecision) return PrecisionAreaOf(precision, all);
  WideArea twice = 0;
  for (int part = 0; part < 4; ++part) twice += WideArea{roc[part]} << (32 * part);
  return RocAreaOf(twice, all);
}

void FillCurve(uint64_t rows, const double* scores, const float* labels, const float* weights,
               const CurveRoom& room, cudaStream_t stream) {
  Fill<<<BlocksFor(rows, kThreads), kThreads, 0, stream>>>(rows, scores, labels, weights, room);
}

void FillPair(uint64_t rows, const ClassPair& pair, const double* scores, const float* labels,
              const float* weights, const CurveRoom& room, uint32_t* filled, cudaStream_t stream) {
  FillTwo<<<BlocksFor(rows, kThreads), kThreads, 0, stream>>>(rows, pair, scores, labels, weights,
                                                              room, filled);
}

void SumTiles(const CurveRoom& sorted, uint64_t rows, const ExactUnits& weights,
              const CurveTiles& tiles, cudaStream_t stream) {
  SumTilesKernel<<<BlocksFor(rows, kCurveTile), kThreads, 0, stream>>>(sorted, rows, weights,
                                                                       tiles);
}

void AddAreas(CurveArea area, const CurveRoom& sorted, uint64_t rows, const ExactUnits& weights,
              const CurveTiles& tiles, CurveTotal* total, cudaStream_t stream) {
  AddAreasKernel<<<BlocksFor(rows, kCurveTile), kThreads, 0, stream>>>(area, sorted, rows, weights,
                                                                       tiles, total);
}

}  // namespace strata::gpu_tree
