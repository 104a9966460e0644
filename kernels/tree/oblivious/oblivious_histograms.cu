// Histograms of listed leaves: in shared memory as [bin][word][column of a block], where the lanes
// of a warp add to 32 columns at a time, so that each has a bank of its own and no two ever meet,
// whatever the data. Gradients of 31 bits are added up as two halves of 15 and 16 bits.
#include "kernels/core/cuda_status.cuh"
#include "kernels/tree/bins/lane_bins.cuh"
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/oblivious/oblivious_view.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 1024;
constexpr unsigned kPieceThreads = 768;  // two blocks of which leave a thread 42 registers
constexpr unsigned kAtOnce = 2;          // rows that a lane fetches at once
constexpr unsigned kLaneBytes = 16;
constexpr unsigned kLanesOfRow = kBlockColumns / kLaneBytes;
constexpr unsigned kWarpRows = kWarpLanes / kLanesOfRow;
constexpr uint32_t kLowBits = 15;
constexpr uint32_t kLowMask = (1U << kLowBits) - 1;

__device__ void AddWord(unsigned char* at, uint32_t by) {
  atomicAdd(reinterpret_cast<uint32_t*>(at), by);
}
__device__ int64_t Joined(uint32_t high, uint32_t low) {
  return int64_t{static_cast<int32_t>(high)} * (kLowMask + 1) + low;
}

// What a bin has in shared memory. Weights of 0 and 1 take one word, others two.
template <bool kUnitWeights>
struct BinWords {
  static constexpr uint32_t kWords = kUnitWeights ? 3 : 4;
  static constexpr uint32_t kBytes = kWords * kBlockColumns * sizeof(uint32_t);
  static constexpr uint32_t kNext = kBlockColumns * sizeof(uint32_t);

  // `offset` is bin * 256 + 4 * bank, as LaneBins has it.
  static __device__ void Add(const Row32& row, unsigned char* words, uint32_t offset) {
    unsigned char* const at = words + offset + (offset >> 8) * (kBytes - 256);
    const auto gradient = static_cast<uint32_t>(row.gradient);
    AddWord(at, gradient & kLowMask);
    AddWord(at + kNext, static_cast<uint32_t>(row.gradient >> kLowBits));
    const auto weight = static_cast<uint32_t>(row.hessian);
    if constexpr (kUnitWeights) {
      AddWord(at + 2 * kNext, weight);
    } else {
      AddWord(at + 2 * kNext, weight & kLowMask);
      AddWord(at + 3 * kNext, weight >> kLowBits);
    }
  }

  // Of a cell, which are numbered by bin and column; leaves zeros.
  static __device__ GradientSums Take(uint32_t* words, uint32_t cell) {
    uint32_t* const at = words + cell / kBlockColumns * (kBytes / 4) + cell % kBlockColumns;
    uint32_t word[kWords];
#pragma unroll
    for (uint32_t k = 0; k < kWords; ++k) {
      word[k] = at[k * kBlockColumns];
      at[k * kBlockColumns] = 0;
    }
    GradientSums sums;
    sums.gradient = Joined(word[1], word[0]);
    if constexpr (kUnitWeights) {
      sums.hessian = word[2];
    } else {
      sums.hessian = Joined(word[3], word[2]);
    }
    return sums;
  }
};

// A piece of a listed leaf's rows, the columns of a block, and an output.
struct Piece {
  const ColumnBlock* block = nullptr;
  uint64_t begin = 0;
  uint32_t count = 0;
  bool is_all = false;  // of the leaf: the histogram is written, not added to
  uint32_t output = 0;
  GradientSums* histogram = nullptr;
};

__device__ Piece PieceAt(const ObliviousView& view, uint64_t number) {
  Piece piece;
  piece.block = view.block + number % view.blocks;
  number /= view.blocks;
  piece.output = static_cast<uint32_t>(number % view.outputs);
  const auto of_all = static_cast<uint32_t>(number / view.outputs);
  uint32_t place = 0;  // of the last leaf that begins no later
  uint32_t end = view.listed_count();
  while (end - place > 1) {
    const uint32_t middle = (place + end) / 2;
    if (view.listed[middle].first <= of_all) {
      place = middle;
    } else {
      end = middle;
    }
  }
  const ListedLeaf& leaf = view.listed[place];
  // Pieces of a leaf are alike.
  const uint32_t of_leaf = of_all - leaf.first;
  const uint32_t rows = leaf.count / leaf.pieces;
  const uint32_t more = leaf.count % leaf.pieces;  // pieces that have another row
  piece.begin = uint64_t{leaf.begin} + of_leaf * rows + min(of_leaf, more);
  piece.count = rows + (of_leaf < more ? 1 : 0);
  piece.is_all = leaf.pieces == 1;
  piece.histogram = view.HistogramOf(view.SlotOf(place), piece.output) + piece.block->histogram;
  return piece;
}

// `kPacked`: gradients lie in the order of the list.
template <bool kUnitWeights, bool kPacked>
__device__ void AddRows(const ObliviousView& view, const Piece& piece, uint32_t* words) {
  const unsigned lane = threadIdx.x % kWarpLanes;
  const LaneBins<kLaneBytes> order(lane, kLanesOfRow);
  const uint8_t* const bins = piece.block->bins + lane % kLanesOfRow * kLaneBytes;
  auto* const sums = reinterpret_cast<unsigned char*>(words);
  const bool is_listed = view.level > 0;
  const uint32_t* const list = view.list + piece.begin;
  const uint64_t first_of_output = uint64_t{piece.output} * view.rows;
  const Row32* const gradients = kPacked ? view.list_gradients + first_of_output + piece.begin
                                         : view.gradients + first_of_output;
  uint32_t row[kAtOnce];
  Row32 gradient[kAtOnce];
  const auto fetch = [&](uint32_t from) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const uint32_t i = from + k * kWarpRows + lane / kLanesOfRow;
      const uint32_t at = min(i, piece.count - 1);
      row[k] = is_listed ? list[at] : static_cast<uint32_t>(piece.begin) + at;
      gradient[k] = i < piece.count ? gradients[kPacked ? at : row[k]] : Row32{};
    }
  };
  uint32_t base = threadIdx.x / kWarpLanes * kWarpRows * kAtOnce;
  if (base < piece.count) fetch(base);
  while (base < piece.count) {
    uint32_t loaded[kAtOnce][kLaneBytes / 4];
    Row32 own[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      order.Load(bins + uint64_t{row[k]} * kBlockColumns, loaded[k]);
      own[k] = gradient[k];
    }
    base += kPieceThreads / kWarpLanes * kWarpRows * kAtOnce;
    if (base < piece.count) fetch(base);
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      order.ForEach(loaded[k],
                    [&](uint32_t offset) { BinWords<kUnitWeights>::Add(own[k], sums, offset); });
    }
  }
}

__device__ void AddToMemory(const GradientSums& sums, GradientSums* to) {
  auto* const words = reinterpret_cast<unsigned long long*>(to);
  if (sums.gradient != 0) atomicAdd(words, static_cast<unsigned long long>(sums.gradient));
  if (sums.hessian != 0) atomicAdd(words + 1, static_cast<unsigned long long>(sums.hessian));
}

template <bool kUnitWeights, bool kPacked>
__global__ void __launch_bounds__(kPieceThreads, kUnitWeights ? 2 : 1)
    AddPieces(const __grid_constant__ ObliviousView view, uint32_t shared_words) {
  extern __shared__ uint4 shared[];
  auto* const words = reinterpret_cast<uint32_t*>(shared);
  for (uint32_t i = threadIdx.x; i < shared_words; i += kPieceThreads) words[i] = 0;
  __syncthreads();
  const uint64_t pieces = uint64_t{*view.piece_count} * view.blocks * view.outputs;
  for (uint64_t number = blockIdx.x; number < pieces; number += gridDim.x) {
    const Piece piece = PieceAt(view, number);
    AddRows<kUnitWeights, kPacked>(view, piece, words);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < piece.block->bins_max * kBlockColumns; i += kPieceThreads) {
      const GradientSums sums = BinWords<kUnitWeights>::Take(words, i);
      if (piece.is_all) {
        piece.histogram[i] = sums;
      } else {
        AddToMemory(sums, piece.histogram + i);
      }
    }
    __syncthreads();
  }
}

// Zeros for the leaves of several pieces.
__global__ void __launch_bounds__(kThreads)
    ClearHistograms(const __grid_constant__ ObliviousView view) {
  const uint32_t place = blockIdx.x / view.outputs;
  if (view.listed[place].pieces == 1) return;
  const ColumnBlock& first = view.block[0];
  const ColumnBlock& last = view.block[view.blocks - 1];
  GradientSums* const histogram = view.HistogramOf(view.SlotOf(place), blockIdx.x % view.outputs);
  const uint64_t end = last.histogram + uint64_t{last.bins_max} * kBlockColumns;
  for (uint64_t i = first.histogram + blockIdx.y * uint64_t{kThreads} + threadIdx.x; i < end;
       i += uint64_t{gridDim.y} * kThreads) {
    histogram[i] = {};
  }
}

// A leaf's sums become totals of its level; from the smaller leaf of a pair come both.
__device__ void SetTotals(const ObliviousView& view, uint32_t place, uint32_t output,
                          const GradientSums& sums) {
  const uint64_t outputs = view.outputs;
  if (view.builds_all) {
    view.totals[place * outputs + output] = sums;
    return;
  }
  const GradientSums other = view.totals_before[place * outputs + output] - sums;
  const bool is_right = view.listed_of[place] < 0;
  view.totals[place * outputs + output] = is_right ? other : sums;
  view.totals[(place + view.pairs()) * outputs + output] = is_right ? sums : other;
}

// Bins become sums of themselves and those below, where splits are borders. A block of threads has
// a listed leaf, an output and a block of columns: a lane a column, a warp some bins.
__global__ void __launch_bounds__(kThreads) SumBins(const __grid_constant__ ObliviousView view) {
  constexpr unsigned kWarps = kThreads / kWarpLanes;
  constexpr unsigned kBinsOfWarp = 256 / kWarps;
  __shared__ GradientSums of_warp[kWarps][kWarpLanes];
  const ColumnBlock& block = view.block[blockIdx.y];
  const uint32_t place = blockIdx.x / view.outputs;
  const uint32_t output = blockIdx.x % view.outputs;
  GradientSums* const histogram = view.HistogramOf(view.SlotOf(place), output) + block.histogram;
  const unsigned lane = threadIdx.x % kWarpLanes;
  const unsigned warp = threadIdx.x / kWarpLanes;
  GradientSums sums[kBinsOfWarp];
  GradientSums sum;
#pragma unroll
  for (unsigned k = 0; k < kBinsOfWarp; ++k) {
    const uint32_t bin = warp * kBinsOfWarp + k;
    if (bin < block.bins_max) sum += histogram[bin * kBlockColumns + lane];
    sums[k] = sum;
  }
  of_warp[warp][lane] = sum;
  __syncthreads();
  GradientSums before;
  for (unsigned w = 0; w < warp; ++w) before += of_warp[w][lane];
  if (view.sets_totals && blockIdx.y == 0 && threadIdx.x == kThreads - kWarpLanes) {
    sum += before;
    SetTotals(view, place, output, sum);
  }
  const uint32_t column = block.first_column + lane;
  if (column < view.column_count && view.columns[column].is_value) return;
#pragma unroll
  for (unsigned k = 0; k < kBinsOfWarp; ++k) {
    const uint32_t bin = warp * kBinsOfWarp + k;
    if (bin >= block.bins_max) break;
    sums[k] += before;
    histogram[bin * kBlockColumns + lane] = sums[k];
  }
}

uint32_t SharedBytes(uint32_t bins_max, bool has_unit_weights) {
  return bins_max * (has_unit_weights ? BinWords<true>::kBytes : BinWords<false>::kBytes);
}

}  // namespace

Status PrepareObliviousHistograms() {
  constexpr uint32_t kBinsMax = 256;
  const auto prepare = [](const void* kernel, bool has_unit_weights) {
    return FromCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(SharedBytes(kBinsMax, has_unit_weights))),
                    "shared memory of histograms");
  };
  STRATA_TRY(prepare(reinterpret_cast<const void*>(AddPieces<true, true>), true));
  STRATA_TRY(prepare(reinterpret_cast<const void*>(AddPieces<true, false>), true));
  STRATA_TRY(prepare(reinterpret_cast<const void*>(AddPieces<false, true>), false));
  return prepare(reinterpret_cast<const void*>(AddPieces<false, false>), false);
}

void BuildObliviousHistograms(const ObliviousView& view, uint32_t grid, uint32_t bins_max,
                              cudaStream_t stream) {
  const uint32_t cells = view.listed_count() * view.outputs;
  const uint64_t size = uint64_t{view.blocks} * bins_max * kBlockColumns;
  const dim3 clear(cells, std::min(64U, BlocksFor(size, kThreads)));
  ClearHistograms<<<clear, kThreads, 0, stream>>>(view);
  const uint32_t bytes = SharedBytes(bins_max, view.has_unit_weights);
  const bool is_packed = view.level > 0 && view.list_gradients != nullptr;
  if (view.has_unit_weights && is_packed) {
    AddPieces<true, true><<<grid, kPieceThreads, bytes, stream>>>(view, bytes / 4);
  } else if (view.has_unit_weights) {
    AddPieces<true, false><<<grid, kPieceThreads, bytes, stream>>>(view, bytes / 4);
  } else if (is_packed) {
    AddPieces<false, true><<<grid, kPieceThreads, bytes, stream>>>(view, bytes / 4);
  } else {
    AddPieces<false, false><<<grid, kPieceThreads, bytes, stream>>>(view, bytes / 4);
  }
  SumBins<<<dim3(cells, view.blocks), kThreads, 0, stream>>>(view);
}

}  // namespace strata::gpu_tree
