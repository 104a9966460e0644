// Histograms of the smaller children of a step: in shared memory as [bin][sum][feature of a block],
// where the lanes of a warp add to 32 features at a time, so that each has a bank of its own and no
// two ever meet, whatever the data. Sums are integers, whose order does not matter.
#include "kernels/core/cuda_status.cuh"
#include "kernels/tree/bins/lane_bins.cuh"
#include "kernels/tree/grow/device_tree.cuh"
#include "kernels/tree/grow/meeting.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 1024;
constexpr uint32_t kRowsMax = 65535;        // of an item: sums of 16 bits a row fit 32 bits
constexpr uint32_t kItemCost = 2048;        // of an item beside its rows, in rows
constexpr unsigned kAtOnce = 2;             // rows that a lane fetches at once
constexpr uint32_t kBinWords = 2 * kLanes;  // of a bin: two sums a lane

// Rows of 16 bits: two sums of a bin. Of 32 bits: four, the halves of both numbers, the second two
// a plane of all bins behind.
template <typename Gradient>
struct Sums;

__device__ uint32_t TakeWord(uint32_t* at) {
  const uint32_t word = *at;
  *at = 0;
  return word;
}
__device__ void AddWord(unsigned char* at, uint32_t by) {
  atomicAdd(reinterpret_cast<uint32_t*>(at), by);
}
constexpr uint32_t kNextSum = kLanes * sizeof(uint32_t);

template <>
struct Sums<uint32_t> {
  static constexpr uint32_t kPlanes = 1;
  static __device__ void Add(uint32_t row, unsigned char* at, uint32_t /*plane*/) {
    AddWord(at, static_cast<uint32_t>(static_cast<int32_t>(row) >> 16));
    AddWord(at + kNextSum, row & 0xffffU);
  }
  static __device__ int64_t Take(uint32_t* at, bool is_hessian, uint32_t /*plane*/) {
    const uint32_t sum = TakeWord(at + (is_hessian ? kLanes : 0));
    return is_hessian ? int64_t{sum} : int64_t{static_cast<int32_t>(sum)};
  }
  static __device__ GradientSums Of(uint32_t row) {
    return {static_cast<int32_t>(row) >> 16, row & 0xffffU};
  }
};

template <>
struct Sums<Row32> {
  static constexpr uint32_t kPlanes = 2;
  static __device__ void Add(const Row32& row, unsigned char* at, uint32_t plane) {
    AddWord(at, static_cast<uint32_t>(row.gradient >> 16));
    AddWord(at + kNextSum, static_cast<uint32_t>(row.gradient) & 0xffffU);
    AddWord(at + plane, static_cast<uint32_t>(row.hessian >> 16));
    AddWord(at + plane + kNextSum, static_cast<uint32_t>(row.hessian) & 0xffffU);
  }
  static __device__ int64_t Take(uint32_t* at, bool is_hessian, uint32_t plane) {
    uint32_t* const halves = at + (is_hessian ? plane : 0);
    return int64_t{static_cast<int32_t>(TakeWord(halves))} * 65536 + TakeWord(halves + kLanes);
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
  uint32_t rows[kChosenMax];  // of the smaller child, unless it is not needed
  uint32_t begin[kChosenMax];
  uint32_t pieces[kChosenMax];
  uint64_t first[kChosenMax];  // item of the leaf
  uint64_t items;              // of all
  int32_t slot[kChosenMax];
  uint8_t side[kChosenMax];
};

// The first warp: the rows of an item that let the work of blocks of threads end soonest, when each
// item costs as much as some rows more. A lane tries a size.
__device__ uint32_t BestItemRows(const TreeView& view, const Division& division, int32_t leaves,
                                 uint64_t all_rows) {
  const uint64_t fair = (all_rows * view.blocks + view.histogram_grid - 1) / view.histogram_grid;
  const uint32_t rounds_min = static_cast<uint32_t>((fair + kRowsMax - 1) / kRowsMax);
  const auto least = static_cast<uint32_t>(rounds_min > 1 ? fair / rounds_min : fair);
  uint32_t size = least + (least * (threadIdx.x % 32) + 15) / 16;
  size = min(max(size, kHistogramRowsMin), kRowsMax);
  const float pieces_a_row = 1.0F / static_cast<float>(size);
  uint32_t items = 0;
  for (int32_t i = 0; i < leaves; ++i) {
    items += static_cast<uint32_t>(static_cast<float>(division.rows[i]) * pieces_a_row) + 1;
  }
  const uint32_t rounds = (items * view.blocks + view.histogram_grid - 1) / view.histogram_grid;
  const uint64_t cost = uint64_t{rounds} * (size + kItemCost);
  return static_cast<uint32_t>(ShuffleReduce(cost << 16 | size, LeastOf{}) & 0xffff);
}

// The children of a leaf that was chosen. Of several GPUs, what has been told of their rows is put
// into the nodes, for later kernels, by the first block of threads.
__device__ ChildPair TakeCounts(const TreeView& view, int32_t number) {
  const Chosen& chosen = view.state->chosen[number];
  if (chosen.parent < 0 || view.gpus == 1) return {view, chosen};
  TreeNode* const children = view.nodes + chosen.children;
  const uint32_t left = OthersOf(view, static_cast<uint32_t>(number) * 2);
  const uint32_t right = OthersOf(view, static_cast<uint32_t>(number) * 2 + 1);
  if (blockIdx.x == 0) {
    children[0].others = left;
    children[1].others = right;
  }
  return {view, chosen, int64_t{children[0].count} + left, int64_t{children[1].count} + right};
}

__device__ void Divide(const TreeView& view, Division* division) {
  if (threadIdx.x < 32) {
    const TreeState& state = *view.state;
    const auto i = static_cast<int32_t>(threadIdx.x);
    uint32_t rows = 0;
    bool is_needed = false;
    if (i < state.chosen_count) {
      const Chosen& chosen = state.chosen[i];
      const ChildPair pair = TakeCounts(view, i);
      const TreeNode& leaf = view.nodes[pair.smaller];
      is_needed = pair.any_can_split;
      rows = is_needed ? leaf.count : 0;
      division->begin[i] = leaf.begin();
      division->side[i] = leaf.side;
      division->slot[i] = chosen.new_slot;
    }
    division->rows[i] = rows;
    __syncwarp();
    const uint64_t all = ShuffleReduce(uint64_t{rows}, PlusOf{});
    const uint32_t item_rows = BestItemRows(view, *division, state.chosen_count, all);
    // Of a leaf without rows there is one piece, which has zeros written.
    const uint32_t pieces = rows == 0 ? 1 : (rows + item_rows - 1) / item_rows;
    division->pieces[i] = is_needed ? pieces : 0;
    const uint64_t items = is_needed ? uint64_t{pieces} * view.blocks : 0;
    const uint64_t until = ShufflePrefixSum(items);
    division->first[i] = until - items;
    if (i == kChosenMax - 1) division->items = until;
  }
  __syncthreads();
}
static_assert(kChosenMax == 32);

// Whole warps call.
__device__ Item ItemAt(const TreeView& view, const Division& division, uint64_t number) {
  Item item;
  if (number >= division.items) return item;
  // The last leaf that begins no later: those without items begin where the next one does.
  const unsigned lane = threadIdx.x % 32;
  const bool begins = division.pieces[lane] > 0 && division.first[lane] <= number;
  const int i = 31 - __clz(static_cast<int>(__ballot_sync(kWholeWarp, begins)));
  const auto of_leaf = static_cast<uint32_t>(number - division.first[i]);
  const uint32_t pieces = division.pieces[i];
  const uint32_t piece = of_leaf % pieces;
  // Pieces of a leaf are alike.
  const uint32_t rows = division.rows[i] / pieces;
  const uint32_t more = division.rows[i] % pieces;  // pieces that have another row
  item.block = view.block + of_leaf / pieces;
  item.begin = division.begin[i] + piece * rows + min(piece, more);
  item.count = rows + (piece < more ? 1 : 0);
  item.side = division.side[i];
  item.is_all = pieces == 1;
  item.histogram = view.histograms + static_cast<uint64_t>(division.slot[i]) * view.histogram_size;
  return item;
}

// A warp takes rows by lanes: two of a row of 32 features, one of a smaller one.
template <unsigned kBytes, typename Gradient>
__device__ void AddRows(const BlockView& block, const RowList& rows, const Gradient* gradients,
                        uint32_t count, uint32_t* sums) {
  using Kind = Sums<Gradient>;
  const unsigned lane = threadIdx.x % 32;
  const unsigned lanes_of_row = block.stride / kBytes;
  const unsigned warp_rows = kLanes / lanes_of_row;
  const LaneBins<kBytes> order(lane, lanes_of_row);
  const auto* const bins = static_cast<const uint8_t*>(block.bins) + lane % lanes_of_row * kBytes;
  auto* const own_sums = reinterpret_cast<unsigned char*>(sums);
  const uint32_t plane = block.bins_max * kBinWords * sizeof(uint32_t);
  uint32_t row[kAtOnce];
  Gradient gradient[kAtOnce];
  const auto fetch = [&](uint32_t from) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const uint32_t i = from + k * warp_rows + lane / lanes_of_row;
      const uint32_t at = min(i, count - 1);
      row[k] = rows[at];
      gradient[k] = i < count ? gradients[at] : Gradient{};
    }
  };
  uint32_t base = threadIdx.x / 32 * warp_rows * kAtOnce;
  if (base < count) fetch(base);
  while (base < count) {
    uint32_t words[kAtOnce][(kBytes + 3) / 4];
    Gradient own[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      order.Load(bins + uint64_t{row[k]} * block.stride, words[k]);
      own[k] = gradient[k];
    }
    base += blockDim.x / 32 * warp_rows * kAtOnce;
    if (base < count) fetch(base);
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      order.ForEach(words[k],
                    [&](uint32_t offset) { Kind::Add(own[k], own_sums + offset, plane); });
    }
  }
}

template <typename Gradient>
__device__ void BuildNarrow(const Item& item, const RowList& rows, const Gradient* gradients,
                            uint32_t* sums) {
  using Kind = Sums<Gradient>;
  const BlockView& block = *item.block;
  switch (block.stride) {
    case 1:
      AddRows<1>(block, rows, gradients, item.count, sums);
      break;
    case 2:
      AddRows<2>(block, rows, gradients, item.count, sums);
      break;
    case 4:
      AddRows<4>(block, rows, gradients, item.count, sums);
      break;
    case 8:
      AddRows<8>(block, rows, gradients, item.count, sums);
      break;
    default:
      AddRows<16>(block, rows, gradients, item.count, sums);
  }
  __syncthreads();
  // Sums go to memory, neighbours side by side, and are zeros again for the next item.
  auto* const out = reinterpret_cast<unsigned long long*>(item.histogram + block.histogram);
  const int shift = __ffs(static_cast<int>(block.stride)) - 1;
  const uint32_t plane_words = block.bins_max * kBinWords;
  for (uint32_t i = threadIdx.x; i < 2 * block.bins_max * block.stride; i += blockDim.x) {
    const bool is_hessian = i % 2 != 0;
    const uint32_t feature = i / 2 & (block.stride - 1);
    int64_t sum = 0;
    for (uint32_t lane = feature; lane < kLanes; lane += block.stride) {
      sum += Kind::Take(sums + (i >> (shift + 1)) * kBinWords + lane, is_hessian, plane_words);
    }
    if (feature >= block.features) continue;
    if (item.is_all) {
      out[i] = static_cast<unsigned long long>(sum);
    } else if (sum != 0) {
      atomicAdd(out + i, static_cast<unsigned long long>(sum));
    }
  }
  __syncthreads();
}

// Bins of 16 bits: straight into memory.
template <typename Gradient>
__device__ void BuildWide(const TreeView& view, const Item& item, const RowList& rows,
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
__global__ void __launch_bounds__(kThreads, kHistogramBlocks)
    Histograms(const __grid_constant__ TreeView view, Gradient* first, Gradient* second,
               uint32_t words) {
  extern __shared__ uint4 shared[];
  auto* const sums = reinterpret_cast<uint32_t*>(shared);
  __shared__ Division division;
  if (view.state->chosen_count == 0) return;
  for (uint32_t i = threadIdx.x; i < words / 4; i += blockDim.x) shared[i] = uint4{0, 0, 0, 0};
  if (!Hear(view, StepTopic::kCounts)) return;
  Divide(view, &division);
  for (uint64_t number = blockIdx.x;; number += gridDim.x) {
    const Item item = ItemAt(view, division, number);
    if (item.block == nullptr) break;
    const RowList rows(view, view.state->steps == 0, item.side, item.begin);
    const Gradient* const gradients = (item.side == 0 ? first : second) + item.begin;
    if (item.block->wide) {
      BuildWide(view, item, rows, gradients);
    } else {
      BuildNarrow(item, rows, gradients, sums);
    }
  }
  TellAtEnd(view, StepTopic::kHistograms);
}

}  // namespace

uint32_t HistogramSharedBytes(const TreeView& view, uint32_t bins_max) {
  const uint32_t planes = view.is_wide ? Sums<Row32>::kPlanes : Sums<uint32_t>::kPlanes;
  return bins_max * planes * kBinWords * static_cast<uint32_t>(sizeof(uint32_t));
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
  const auto words = static_cast<uint32_t>(shared_bytes / sizeof(uint32_t));
  if (view.is_wide) {
    Histograms<Row32><<<view.histogram_grid, kThreads, shared_bytes, stream>>>(
        view, view.gradients32[0], view.gradients32[1], words);
  } else {
    Histograms<uint32_t><<<view.histogram_grid, kThreads, shared_bytes, stream>>>(
        view, view.gradients16[0], view.gradients16[1], words);
  }
}

}  // namespace strata::gpu_tree
