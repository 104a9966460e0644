// Histograms of the smaller children of a step. Lane l of a warp adds up feature l of a block: in
// shared memory as [bin][sum][lane], so that each lane has a bank of its own and no two of a warp
// ever meet, whatever the data. Sums are integers, whose order does not matter.
#include "kernels/core/cuda_status.cuh"
#include "kernels/tree/device_tree.cuh"
#include "kernels/tree/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr uint32_t kRowsMax = 65535;  // of an item: sums of 16 bits a row fit 32 bits
constexpr unsigned kAhead = 8;        // rows whose bins a warp fetches at once

// Rows of 16 bits: two sums of a bin. Of 32 bits: four, the halves of both numbers.
template <typename Gradient>
struct Sums;

template <>
struct Sums<uint32_t> {
  static constexpr uint32_t kCount = 2;
  static constexpr unsigned kThreads = 640;
  static constexpr unsigned kBlocks = 2;  // of an SM
  static __device__ void Add(uint32_t row, uint32_t* at) {
    atomicAdd(at, static_cast<uint32_t>(static_cast<int32_t>(row) >> 16));
    atomicAdd(at + kLanes, row & 0xffffU);
  }
  static __device__ GradientSums Read(const uint32_t* at) {
    return {static_cast<int32_t>(at[0]), at[kLanes]};
  }
  static __device__ GradientSums Of(uint32_t row) {
    return {static_cast<int32_t>(row) >> 16, row & 0xffffU};
  }
};

template <>
struct Sums<Row32> {
  static constexpr uint32_t kCount = 4;
  static constexpr unsigned kThreads = 1024;
  static constexpr unsigned kBlocks = 1;
  static __device__ void Add(const Row32& row, uint32_t* at) {
    atomicAdd(at, static_cast<uint32_t>(row.gradient >> 16));
    atomicAdd(at + kLanes, static_cast<uint32_t>(row.gradient) & 0xffffU);
    atomicAdd(at + 2 * kLanes, static_cast<uint32_t>(row.hessian >> 16));
    atomicAdd(at + 3 * kLanes, static_cast<uint32_t>(row.hessian) & 0xffffU);
  }
  static __device__ GradientSums Read(const uint32_t* at) {
    return {int64_t{static_cast<int32_t>(at[0])} * 65536 + at[kLanes],
            int64_t{static_cast<int32_t>(at[2 * kLanes])} * 65536 + at[3 * kLanes]};
  }
  static __device__ GradientSums Of(const Row32& row) { return {row.gradient, row.hessian}; }
};

__device__ void AddToMemory(const GradientSums& sum, GradientSums* to) {
  auto* const words = reinterpret_cast<unsigned long long*>(to);
  if (sum.gradient != 0) atomicAdd(words, static_cast<unsigned long long>(sum.gradient));
  if (sum.hessian != 0) atomicAdd(words + 1, static_cast<unsigned long long>(sum.hessian));
}

// A piece of the step's work: rows of one leaf, features of one block.
struct Item {
  const BlockView* block = nullptr;  // null: none is left
  uint32_t begin = 0;
  uint32_t count = 0;
  uint8_t side = 0;
  bool is_all = false;  // of the leaf's rows: the histogram is written, not added to
  GradientSums* histogram = nullptr;
};

// How the step's rows are divided, the same in every block of threads.
struct Division {
  uint32_t item_rows;
  uint32_t leaf_rows[kChosenMax];  // of the smaller child
  uint32_t leaf[kChosenMax];       // its node
  bool is_needed[kChosenMax];      // one of the children can be split

  // Of a leaf without rows there is one, which has zeros written.
  __device__ uint32_t Pieces(int32_t i) const {
    if (!is_needed[i]) return 0;
    return leaf_rows[i] == 0 ? 1 : (leaf_rows[i] + item_rows - 1) / item_rows;
  }
};

__device__ void Divide(const TreeView& view, Division* division) {
  const TreeState& state = *view.state;
  if (threadIdx.x < 32) {
    uint32_t rows = 0;
    division->is_needed[threadIdx.x] = false;
    if (static_cast<int32_t>(threadIdx.x) < state.chosen_count) {
      const ChildPair pair(view, state.chosen[threadIdx.x]);
      rows = pair.any_can_split ? view.nodes[pair.smaller].count : 0;
      division->leaf[threadIdx.x] = static_cast<uint32_t>(pair.smaller);
      division->is_needed[threadIdx.x] = pair.any_can_split;
    }
    division->leaf_rows[threadIdx.x] = rows;
    const uint64_t all = ShuffleReduce(uint64_t{rows}, PlusOf{}) * view.blocks;
    const uint64_t fair = (all + view.histogram_grid - 1) / view.histogram_grid;
    if (threadIdx.x == 0) {
      division->item_rows = static_cast<uint32_t>(
          fair < kHistogramRowsMin ? kHistogramRowsMin : (fair > kRowsMax ? kRowsMax : fair));
    }
  }
  __syncthreads();
}
static_assert(kChosenMax == 32);

__device__ Item ItemAt(const TreeView& view, const Division& division, uint64_t number) {
  Item item;
  for (int32_t i = 0; i < view.state->chosen_count; ++i) {
    const uint32_t rows = division.leaf_rows[i];
    const uint64_t pieces = division.Pieces(i);
    if (number >= pieces * view.blocks) {
      number -= pieces * view.blocks;
      continue;
    }
    const uint32_t piece = static_cast<uint32_t>(number % pieces);
    const TreeNode& leaf = view.nodes[division.leaf[i]];
    item.block = view.block + number / pieces;
    item.begin = leaf.begin() + piece * division.item_rows;
    item.count = min(division.item_rows, rows - piece * division.item_rows);
    item.side = leaf.side;
    item.is_all = pieces == 1;
    item.histogram = view.histograms +
                     static_cast<uint64_t>(view.state->chosen[i].new_slot) * view.histogram_size;
    break;
  }
  return item;
}

// Rows that a warp has before it, for all of its lanes to read.
template <typename Gradient>
struct Staged {
  uint32_t row;
  Gradient gradient;
};

// A warp takes 32 rows at a time; with fewer than 32 features side by side, several rows at once.
// Instructions are what this costs, so that there are no conditions: lanes without a feature add to
// sums that nobody reads, and rows behind the last one add nothing.
template <bool kIsFull, typename Gradient>
__device__ void AddNarrow(const BlockView& block, const uint32_t* rows, const Gradient* gradients,
                          uint32_t count, Staged<Gradient>* staged, uint32_t* sums) {
  using Kind = Sums<Gradient>;
  const unsigned lane = threadIdx.x % 32;
  const unsigned stride = kIsFull ? kLanes : block.stride;
  const unsigned at_once = kLanes / stride;
  const unsigned sub = lane / stride;
  const auto* const bins = static_cast<const uint8_t*>(block.bins) + lane % stride;
  uint32_t* const own_sums = sums + lane;
  staged += threadIdx.x / 32 * kLanes;
  for (uint32_t base = threadIdx.x / 32 * 32; base < count; base += blockDim.x) {
    const bool is_row = base + lane < count;
    __syncwarp();
    staged[lane] = {rows[is_row ? base + lane : base],
                    is_row ? gradients[base + lane] : Gradient{}};
    __syncwarp();
    for (unsigned first = 0; first < kLanes; first += kAhead * at_once) {
      Staged<Gradient> row[kAhead];
      uint32_t bin[kAhead];
#pragma unroll
      for (unsigned j = 0; j < kAhead; ++j) {
        const unsigned from = first + j * at_once + sub;
        row[j] = staged[kIsFull ? from : from % kLanes];
        bin[j] = bins[uint64_t{row[j].row} * stride];
      }
#pragma unroll
      for (unsigned j = 0; j < kAhead; ++j) {
        if (!kIsFull && first + j * at_once + sub >= kLanes) break;
        Kind::Add(row[j].gradient, own_sums + bin[j] * (Kind::kCount * kLanes));
      }
    }
  }
}

template <typename Gradient>
__device__ void BuildNarrow(const TreeView& view, const Item& item, const uint32_t* rows,
                            const Gradient* gradients, Staged<Gradient>* staged, uint32_t* sums) {
  using Kind = Sums<Gradient>;
  const BlockView& block = *item.block;
  const uint32_t words = block.bins_max * Kind::kCount * kLanes;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  if (block.stride == kLanes) {
    AddNarrow<true>(block, rows, gradients, item.count, staged, sums);
  } else {
    AddNarrow<false>(block, rows, gradients, item.count, staged, sums);
  }
  __syncthreads();
  GradientSums* const out = item.histogram + block.histogram;
  for (uint32_t i = threadIdx.x; i < block.bins_max * block.stride; i += blockDim.x) {
    const uint32_t bin = i / block.stride;
    if (i % block.stride >= block.features) continue;
    GradientSums sum;
    for (uint32_t lane = i % block.stride; lane < kLanes; lane += block.stride) {
      sum += Kind::Read(sums + bin * Kind::kCount * kLanes + lane);
    }
    if (item.is_all) {
      out[i] = sum;
    } else {
      AddToMemory(sum, out + i);
    }
  }
  __syncthreads();
}

// Bins of 16 bits: straight into memory.
template <typename Gradient>
__device__ void BuildWide(const TreeView& view, const Item& item, const uint32_t* rows,
                          const Gradient* gradients) {
  const BlockView& block = *item.block;
  const auto* const bins = static_cast<const uint16_t*>(block.bins);
  for (uint32_t f = 0; item.is_all && f < block.features; ++f) {
    const FeatureView& feature = view.feature[block.first_feature + f];
    for (uint32_t bin = threadIdx.x; bin < feature.shape.bins; bin += blockDim.x) {
      item.histogram[feature.histogram + bin] = {};
    }
  }
  __syncthreads();
  for (uint64_t i = threadIdx.x; i < uint64_t{item.count} * block.features; i += blockDim.x) {
    const uint32_t at = static_cast<uint32_t>(i / block.features);
    const uint32_t f = static_cast<uint32_t>(i % block.features);
    const uint32_t bin = bins[uint64_t{rows[at]} * block.stride + f];
    const FeatureView& feature = view.feature[block.first_feature + f];
    AddToMemory(Sums<Gradient>::Of(gradients[at]), item.histogram + feature.histogram + bin);
  }
}

template <typename Gradient>
__global__ void __launch_bounds__(Sums<Gradient>::kThreads, Sums<Gradient>::kBlocks)
    Histograms(const __grid_constant__ TreeView view, Gradient* first, Gradient* second) {
  extern __shared__ uint4 shared[];
  auto* const sums = reinterpret_cast<uint32_t*>(shared);
  __shared__ Division division;
  __shared__ Staged<Gradient> staged[Sums<Gradient>::kThreads];
  if (view.state->chosen_count == 0) return;
  Divide(view, &division);
  for (uint64_t number = blockIdx.x;; number += gridDim.x) {
    const Item item = ItemAt(view, division, number);
    if (item.block == nullptr) return;
    const uint32_t* const rows = view.row_buffers[item.side] + item.begin;
    const Gradient* const gradients = (item.side == 0 ? first : second) + item.begin;
    if (item.block->wide) {
      BuildWide(view, item, rows, gradients);
    } else {
      BuildNarrow(view, item, rows, gradients, staged, sums);
    }
  }
}

}  // namespace

uint32_t HistogramSharedBytes(const TreeView& view, uint32_t bins_max) {
  const uint32_t sums = view.is_wide ? Sums<Row32>::kCount : Sums<uint32_t>::kCount;
  return bins_max * sums * kLanes * static_cast<uint32_t>(sizeof(uint32_t));
}

uint32_t HistogramBlocks(const TreeView& view) {
  return view.is_wide ? Sums<Row32>::kBlocks : Sums<uint32_t>::kBlocks;
}

Status PrepareHistograms(uint32_t shared_bytes) {
  const auto bytes = static_cast<int>(shared_bytes);
  STRATA_TRY(FromCuda(cudaFuncSetAttribute(Histograms<uint32_t>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                      "shared memory of histograms"));
  return FromCuda(
      cudaFuncSetAttribute(Histograms<Row32>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "shared memory of histograms");
}

void BuildHistograms(const TreeView& view, uint32_t shared_bytes, cudaStream_t stream) {
  if (view.is_wide) {
    Histograms<Row32><<<view.histogram_grid, Sums<Row32>::kThreads, shared_bytes, stream>>>(
        view, view.gradients32[0], view.gradients32[1]);
  } else {
    Histograms<uint32_t><<<view.histogram_grid, Sums<uint32_t>::kThreads, shared_bytes, stream>>>(
        view, view.gradients16[0], view.gradients16[1]);
  }
}

}  // namespace strata::gpu_tree
