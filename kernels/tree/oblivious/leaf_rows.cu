// Which rows are in which leaf: rows keep their order, and each has the number of its leaf. Leaves
// whose histograms are made from rows have lists of them, in any order, as sums are integers.
#include "kernels/core/cuda_status.cuh"
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/oblivious/oblivious_view.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 1024;
constexpr unsigned kRowsOfThread = 8;  // at once
constexpr uint32_t kTileRows = kThreads * kRowsOfThread;
constexpr uint32_t kSharedLeavesMax = 256;  // that a block of threads counts by itself
constexpr uint32_t kTileLeavesMax = 128;    // that are put together in shared memory
constexpr unsigned kGridMax = 528;          // blocks of threads that go over all rows
constexpr uint32_t kPieceRowsMin = 1024;
constexpr uint32_t kPieceRowsMax = 65535;  // whose sums of 16 bits fit 32

// Counters of some leaves, of which each lane of a warp has its own, so that no two ever meet.
__device__ uint32_t* CounterOf(uint32_t* counters, uint32_t leaf) {
  return counters + leaf * kWarpLanes + threadIdx.x % kWarpLanes;
}

// The leaves of rows that lie side by side, a half of a word each.
class EightLeaves {
 public:
  __device__ EightLeaves(const ObliviousView& view, uint64_t run) {
    const uint4 loaded = reinterpret_cast<const uint4*>(view.leaves)[run];
    words_[0] = loaded.x;
    words_[1] = loaded.y;
    words_[2] = loaded.z;
    words_[3] = loaded.w;
  }
  __device__ uint32_t Of(unsigned k) const { return words_[k / 2] >> (k % 2 * 16) & 0xffff; }
  // Returns the leaf.
  __device__ uint32_t SetBit(unsigned k, uint32_t bit, bool value) {
    words_[k / 2] |= (value ? 1U : 0U) << (bit + k % 2 * 16);
    return Of(k);
  }
  __device__ void Store(const ObliviousView& view, uint64_t run) const {
    reinterpret_cast<uint4*>(view.leaves)[run] =
        make_uint4(words_[0], words_[1], words_[2], words_[3]);
  }

 private:
  uint32_t words_[kRowsOfThread / 2];
};

__global__ void __launch_bounds__(kThreads)
    MarkRows(const __grid_constant__ ObliviousView view, const PickedSplit* split) {
  __shared__ uint32_t counters[kSharedLeavesMax * kWarpLanes];
  const uint32_t leaves = 2 * view.leaf_count();
  const bool is_shared = leaves <= kSharedLeavesMax;
  if (is_shared) {
    for (uint32_t i = threadIdx.x; i < leaves * kWarpLanes; i += kThreads) counters[i] = 0;
    __syncthreads();
  }
  const bool is_split = split->column != PickedSplit::kNone;
  const DeviceColumn column = view.columns[is_split ? split->column : 0];
  const uint32_t place = split->place;
  const uint64_t runs = (view.rows + kRowsOfThread - 1) / kRowsOfThread;
  for (uint64_t run = blockIdx.x * uint64_t{kThreads} + threadIdx.x; run < runs;
       run += uint64_t{gridDim.x} * kThreads) {
    const uint2 bins = reinterpret_cast<const uint2*>(column.bins)[run];
    EightLeaves own(view, run);
#pragma unroll
    for (unsigned k = 0; k < kRowsOfThread; ++k) {
      const uint32_t bin = (k < 4 ? bins.x : bins.y) >> (k % 4 * 8) & 0xff;
      const bool is_right = is_split && (column.is_value ? bin == place + 1 : bin > place);
      const uint32_t leaf = own.SetBit(k, view.level, is_right);
      if (run * kRowsOfThread + k >= view.rows) continue;
      if (is_shared) {
        atomicAdd(CounterOf(counters, leaf), 1U);
      } else {
        atomicAdd(view.NextCounts() + leaf, 1U);
      }
    }
    own.Store(view, run);
  }
  if (!is_shared) return;
  __syncthreads();
  for (uint32_t leaf = threadIdx.x / kWarpLanes; leaf < leaves; leaf += kThreads / kWarpLanes) {
    const uint32_t sum = ShuffleReduce(*CounterOf(counters, leaf), PlusOf{});
    if (threadIdx.x % kWarpLanes == 0 && sum > 0) atomicAdd(view.NextCounts() + leaf, sum);
  }
}

// The rows of a piece, so that pieces of all blocks of columns and outputs are about as many as
// blocks of threads, or a multiple of that.
__device__ uint32_t PieceRows(const ObliviousView& view, uint64_t rows, uint32_t grid) {
  const uint64_t work = rows * view.blocks * view.outputs;
  const uint64_t fair = (work + grid - 1) / grid;
  const uint64_t rounds = (fair + kPieceRowsMax / 2) / (kPieceRowsMax / 2 + 1);
  const uint64_t size = rounds > 1 ? (fair + rounds - 1) / rounds : fair;
  return static_cast<uint32_t>(min(max(size, uint64_t{kPieceRowsMin}), uint64_t{kPieceRowsMax}));
}

// One block of threads.
__global__ void __launch_bounds__(kThreads)
    PlanLists(const __grid_constant__ ObliviousView view, uint32_t grid) {
  __shared__ uint32_t of_warp[kBlockWarpsMax];
  const uint32_t listed = view.listed_count();
  const uint32_t pairs = view.pairs();
  uint32_t rows = 0;
  for (uint32_t base = 0; base < listed; base += kThreads) {
    const uint32_t place = base + threadIdx.x;
    uint32_t count = 0;
    if (place < listed) {
      if (view.builds_all) {
        count = view.level == 0 ? static_cast<uint32_t>(view.rows) : view.LeafCounts()[place];
        view.listed_of[place] = static_cast<int32_t>(place);
      } else {
        const uint32_t left = view.LeafCounts()[place];
        const uint32_t right = view.LeafCounts()[place + pairs];
        const bool is_right = right < left;
        count = is_right ? right : left;
        view.listed_of[place] = is_right ? -1 : static_cast<int32_t>(place);
        view.listed_of[place + pairs] = is_right ? static_cast<int32_t>(place) : -1;
      }
    }
    uint32_t of_base = 0;
    const uint32_t until = ShufflePrefixSum(count, of_warp, &of_base);
    if (place < listed) {
      view.listed[place].begin = rows + until - count;
      view.listed[place].count = count;
      view.listed[place].filled = 0;
    }
    rows += of_base;
  }
  const uint32_t piece_rows = PieceRows(view, rows, grid);
  uint32_t first = 0;
  for (uint32_t base = 0; base < listed; base += kThreads) {
    const uint32_t place = base + threadIdx.x;
    uint32_t pieces = 0;
    if (place < listed) {
      // Of a leaf without rows there is one piece, which has zeros written.
      const uint32_t count = view.listed[place].count;
      pieces = max(1U, count / piece_rows + (count % piece_rows != 0 ? 1 : 0));
    }
    uint32_t of_base = 0;
    const uint32_t until = ShufflePrefixSum(pieces, of_warp, &of_base);
    if (place < listed) {
      view.listed[place].pieces = pieces;
      view.listed[place].first = first + until - pieces;
    }
    first += of_base;
  }
  if (threadIdx.x == 0) *view.piece_count = first;
}

// Blocks of threads take tiles of rows, put those of each listed leaf together in shared memory,
// and write them side by side.
__global__ void __launch_bounds__(kThreads) ListTiles(const __grid_constant__ ObliviousView view) {
  extern __shared__ uint4 shared[];
  const uint32_t listed = view.listed_count();
  auto* const rows = reinterpret_cast<uint32_t*>(shared);
  uint32_t* const counters = rows + kTileRows;
  __shared__ uint32_t begins[kTileLeavesMax + 1];  // of leaves in the tile
  __shared__ uint32_t places[kTileLeavesMax];      // of them in the list
  __shared__ uint32_t of_warp[kBlockWarpsMax];
  const unsigned lane = threadIdx.x % kWarpLanes;
  const unsigned warp = threadIdx.x / kWarpLanes;
  for (uint64_t tile = blockIdx.x; tile * kTileRows < view.rows; tile += gridDim.x) {
    for (uint32_t i = threadIdx.x; i < listed * kWarpLanes; i += kThreads) counters[i] = 0;
    __syncthreads();
    const uint64_t run = tile * kThreads + threadIdx.x;
    const uint64_t first = run * kRowsOfThread;
    int32_t place[kRowsOfThread];
    uint32_t rank[kRowsOfThread];
    if (first < view.rows) {
      const EightLeaves leaves(view, run);
#pragma unroll
      for (unsigned k = 0; k < kRowsOfThread; ++k) {
        place[k] = first + k < view.rows ? view.listed_of[leaves.Of(k)] : -1;
      }
    } else {
#pragma unroll
      for (unsigned k = 0; k < kRowsOfThread; ++k) place[k] = -1;
    }
#pragma unroll
    for (unsigned k = 0; k < kRowsOfThread; ++k) {
      if (place[k] < 0) continue;
      rank[k] = atomicAdd(CounterOf(counters, static_cast<uint32_t>(place[k])), 1U);
    }
    __syncthreads();
    // The lanes' counters become the places where their rows begin.
    for (uint32_t leaf = warp; leaf < listed; leaf += kThreads / kWarpLanes) {
      uint32_t* const counter = CounterOf(counters, leaf);
      const uint32_t count = *counter;
      const uint32_t until = ShufflePrefixSum(count);
      *counter = until - count;
      if (lane == kWarpLanes - 1) begins[leaf] = until;
    }
    __syncthreads();
    const uint32_t count = threadIdx.x < listed ? begins[threadIdx.x] : 0;
    uint32_t all = 0;
    const uint32_t until = ShufflePrefixSum(count, of_warp, &all);
    if (threadIdx.x < listed) {
      begins[threadIdx.x] = until - count;
      ListedLeaf& leaf = view.listed[threadIdx.x];
      if (count > 0) places[threadIdx.x] = leaf.begin + atomicAdd(&leaf.filled, count);
    }
    if (threadIdx.x == 0) begins[listed] = all;
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kRowsOfThread; ++k) {
      if (place[k] < 0) continue;
      const auto leaf = static_cast<uint32_t>(place[k]);
      const uint32_t at = begins[leaf] + *CounterOf(counters, leaf) + rank[k];
      rows[at] = static_cast<uint32_t>(first + k);
    }
    __syncthreads();
    for (uint32_t leaf = warp; leaf < listed; leaf += kThreads / kWarpLanes) {
      const uint32_t begin = begins[leaf];
      const uint32_t end = begins[leaf + 1];
      for (uint32_t i = begin + lane; i < end; i += kWarpLanes) {
        view.list[uint64_t{places[leaf]} + i - begin] = rows[i];
      }
    }
    __syncthreads();
  }
}

// The same for any number of leaves, a row after the other.
__global__ void __launch_bounds__(kThreads) ListEach(const __grid_constant__ ObliviousView view) {
  for (uint64_t row = blockIdx.x * uint64_t{kThreads} + threadIdx.x; row < view.rows;
       row += uint64_t{gridDim.x} * kThreads) {
    const int32_t place = view.listed_of[view.leaves[row]];
    if (place < 0) continue;
    ListedLeaf& leaf = view.listed[place];
    view.list[uint64_t{leaf.begin} + atomicAdd(&leaf.filled, 1U)] = static_cast<uint32_t>(row);
  }
}

// A row of blocks of threads has an output.
__global__ void __launch_bounds__(kThreads)
    GatherGradients(const __grid_constant__ ObliviousView view) {
  const ListedLeaf& last = view.listed[view.listed_count() - 1];
  const uint64_t listed = uint64_t{last.begin} + last.count;
  const uint64_t first_of_output = blockIdx.y * view.rows;
  for (uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x; i < listed;
       i += uint64_t{gridDim.x} * kThreads) {
    view.list_gradients[first_of_output + i] = view.gradients[first_of_output + view.list[i]];
  }
}

__global__ void __launch_bounds__(kThreads)
    Interleave(const DeviceColumn* columns, uint32_t count, uint64_t rows, uint4* bins) {
  for (uint64_t row = blockIdx.x * uint64_t{kThreads} + threadIdx.x; row < rows;
       row += uint64_t{gridDim.x} * kThreads) {
    uint32_t words[kBlockColumns / 4] = {};
#pragma unroll
    for (uint32_t c = 0; c < kBlockColumns; ++c) {
      if (c < count) words[c / 4] |= uint32_t{columns[c].bins[row]} << (c % 4 * 8);
    }
    bins[2 * row] = make_uint4(words[0], words[1], words[2], words[3]);
    bins[2 * row + 1] = make_uint4(words[4], words[5], words[6], words[7]);
  }
}

__global__ void __launch_bounds__(kThreads)
    DropBits(const __grid_constant__ ObliviousView view, uint32_t splits, uint32_t without) {
  for (uint64_t row = blockIdx.x * uint64_t{kThreads} + threadIdx.x; row < view.rows;
       row += uint64_t{gridDim.x} * kThreads) {
    const uint32_t leaf = view.leaves[row] & ((1U << splits) - 1);
    const uint32_t below = leaf & ((1U << without) - 1);
    view.leaves[row] = static_cast<uint16_t>(below | leaf >> (without + 1) << without);
  }
}

unsigned GridFor(uint64_t rows, uint64_t of_block) {
  return std::min(kGridMax, BlocksFor(rows, of_block));
}

constexpr uint32_t TileBytes(uint32_t listed) {
  return kTileRows * sizeof(uint32_t) + listed * kWarpLanes * sizeof(uint32_t);
}

}  // namespace

Status PrepareLists() {
  return FromCuda(cudaFuncSetAttribute(ListTiles, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(TileBytes(kTileLeavesMax))),
                  "shared memory of lists");
}

void SplitRows(const ObliviousView& view, const PickedSplit* split, cudaStream_t stream) {
  MarkRows<<<GridFor(view.rows, kTileRows), kThreads, 0, stream>>>(view, split);
}

void ListRows(const ObliviousView& view, uint32_t grid, cudaStream_t stream) {
  PlanLists<<<1, kThreads, 0, stream>>>(view, grid);
  if (view.level == 0) return;
  if (view.listed_count() <= kTileLeavesMax) {
    ListTiles<<<GridFor(view.rows, kTileRows), kThreads, TileBytes(view.listed_count()), stream>>>(
        view);
  } else {
    ListEach<<<GridFor(view.rows, kThreads), kThreads, 0, stream>>>(view);
  }
}

void ListGradients(const ObliviousView& view, cudaStream_t stream) {
  if (view.level == 0) return;
  const dim3 blocks(GridFor(view.rows, kThreads), view.outputs);
  GatherGradients<<<blocks, kThreads, 0, stream>>>(view);
}

void InterleaveColumns(const DeviceColumn* columns, uint32_t count, uint64_t rows, uint8_t* bins,
                       cudaStream_t stream) {
  Interleave<<<GridFor(rows, kThreads), kThreads, 0, stream>>>(columns, count, rows,
                                                               reinterpret_cast<uint4*>(bins));
}

void DropSplits(const ObliviousView& view, uint32_t splits, uint32_t without, cudaStream_t stream) {
  DropBits<<<GridFor(view.rows, kThreads), kThreads, 0, stream>>>(view, splits, without);
}

}  // namespace strata::gpu_tree
