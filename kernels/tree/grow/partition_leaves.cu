#include "kernels/tree/grow/meeting.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kRowsOfThread = 8;
constexpr unsigned kTileRows = kThreads * kRowsOfThread;

// Which side a row's bin sends it to.
struct SideOfBin {
  const uint32_t* set;  // of a categorical split
  uint32_t threshold;
  uint32_t missing_bin;  // ~0: none
  bool missing_left;

  __device__ SideOfBin(const TreeView& view, int32_t at, const FeatureShape& shape)
      : set(nullptr), threshold(0), missing_bin(~0U), missing_left(false) {
    const DeviceSplit& split = view.nodes[at].best;
    threshold = split.threshold;
    missing_left = split.default_left;
    if (split.categorical) {
      set = view.sets + static_cast<uint64_t>(at) * view.set_words;
    } else if (shape.missing == MissingKind::kNaN) {
      missing_bin = shape.bins - 1;
    } else if (shape.missing == MissingKind::kZero) {
      missing_bin = shape.default_bin;
    }
  }

  __device__ bool IsLeft(uint32_t bin) const {
    if (set != nullptr) return (set[bin / 32] >> (bin % 32) & 1) != 0;
    return bin == missing_bin ? missing_left : bin <= threshold;
  }
};

// The tiles of the step's leaves, one leaf behind the other; in shared memory.
struct TileMap {
  uint32_t first[kChosenMax];         // of each leaf
  uint32_t count;                     // of all
  int32_t slot_to_clear[kChosenMax];  // of each leaf; -1: none

  // All threads; from one leaf on, of the root alone none.
  __device__ void Fill(const TreeView& view) {
    if (threadIdx.x < 32) {
      const TreeState& state = *view.state;
      uint32_t tiles = 0;
      slot_to_clear[threadIdx.x] = -1;
      if (static_cast<int32_t>(threadIdx.x) < state.chosen_count) {
        const Chosen& chosen = state.chosen[threadIdx.x];
        const uint32_t rows = view.nodes[chosen.parent].count;
        tiles = (rows + kTileRows - 1) / kTileRows;
        // Of several GPUs, the child with fewer rows on all may have nearly all of this one's.
        if ((view.gpus > 1 ? rows : rows / 2) > kHistogramRowsMin) {
          slot_to_clear[threadIdx.x] = chosen.new_slot;
        }
      }
      const uint32_t until = ShufflePrefixSum(tiles);
      first[threadIdx.x] = until - tiles;
      if (threadIdx.x == 31) count = until;
    }
    __syncthreads();
  }

  // The leaf that a tile is of: the last one that begins no later. Whole warps call.
  __device__ int32_t LeafOf(uint32_t tile, int32_t leaves) const {
    const unsigned lane = threadIdx.x % 32;
    const bool begins = static_cast<int32_t>(lane) < leaves && first[lane] <= tile;
    return __popc(__ballot_sync(kWholeWarp, begins)) - 1;
  }
};
static_assert(kChosenMax == 32);

struct Tile {
  int32_t chosen;
  uint32_t number;  // within the leaf
};

// Where the rows of a tile go: of each of its warps and of each round, how many before it go left.
struct Places {
  uint32_t left_before[kWarps * kRowsOfThread];
  uint32_t left;  // of the tile
  uint32_t left_begin;
  uint32_t right_end;
};

// Room in both children for a tile's rows: one thread.
__device__ void TakeRoom(const TreeView& view, int32_t children, uint32_t rows, Places* places) {
  TreeNode& left = view.nodes[children];
  TreeNode& right = view.nodes[children + 1];
  places->left_begin = left.anchor + atomicAdd(&left.count, places->left);
  places->right_end = right.anchor - atomicAdd(&right.count, rows - places->left);
}

// Warp 0: prefix sums over the 64 counts of a tile's warps and rounds.
__device__ void SumPlaces(Places* places) {
  const unsigned lane = threadIdx.x;
  const uint32_t first = places->left_before[2 * lane];
  const uint32_t second = places->left_before[2 * lane + 1];
  const uint32_t until = ShufflePrefixSum(first + second);
  places->left_before[2 * lane] = until - first - second;
  places->left_before[2 * lane + 1] = until - second;
  if (lane == 31) places->left = until;
  __syncwarp();
}
static_assert(kWarps * kRowsOfThread == 64);

// Where a tile's rows are.
struct TileRows {
  uint32_t begin;  // in the leaf's buffers
  uint32_t count;
  RowList rows;

  __device__ TileRows(const TreeView& view, int32_t leaf, const TreeNode& node, uint32_t number)
      : begin(node.begin() + number * kTileRows),
        count(min(kTileRows, node.count - number * kTileRows)),
        rows(view, leaf == 0, node.side, begin) {}
};

// The bins of a thread's rows.
template <typename Bin>
__device__ void LoadBins(const void* column, const uint32_t (&row)[kRowsOfThread], uint32_t count,
                         uint32_t (&bin)[kRowsOfThread]) {
#pragma unroll
  for (unsigned j = 0; j < kRowsOfThread; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    bin[j] = i < count ? static_cast<const Bin*>(column)[row[j]] : 0;
  }
}
__device__ void LoadBins(const FeatureView& feature, const uint32_t (&row)[kRowsOfThread],
                         uint32_t count, uint32_t (&bin)[kRowsOfThread]) {
  if (feature.wide) {
    LoadBins<uint16_t>(feature.column, row, count, bin);
  } else {
    LoadBins<uint8_t>(feature.column, row, count, bin);
  }
}

// Says of each row which child it is in.
__device__ void MarkTile(const TreeView& view, const Tile& tile) {
  const Chosen& chosen = view.state->chosen[tile.chosen];
  const TreeNode& parent = view.nodes[chosen.parent];
  const FeatureView& feature = view.feature[parent.best.feature];
  const SideOfBin side(view, chosen.parent, feature.shape);
  const TileRows from(view, chosen.parent, parent, tile.number);
  uint32_t row[kRowsOfThread];
  uint32_t bin[kRowsOfThread];
#pragma unroll
  for (unsigned j = 0; j < kRowsOfThread; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    if (i < from.count) row[j] = from.rows[i];
  }
  LoadBins(feature, row, from.count, bin);
  uint32_t left = 0;
  uint32_t right = 0;
#pragma unroll
  for (unsigned j = 0; j < kRowsOfThread; ++j) {
    if (j * kThreads + threadIdx.x >= from.count) continue;
    const bool is_left = side.IsLeft(bin[j]);
    view.node_of[row[j]] = static_cast<uint16_t>(chosen.children + (is_left ? 0 : 1));
    ++(is_left ? left : right);
  }
  left = ShuffleReduce(left, PlusOf{});
  right = ShuffleReduce(right, PlusOf{});
  if (threadIdx.x % 32 != 0) return;
  if (left > 0) atomicAdd(&view.nodes[chosen.children].count, left);
  if (right > 0) atomicAdd(&view.nodes[chosen.children + 1].count, right);
}

template <typename Gradient>
__device__ void MoveTile(const TreeView& view, const Tile& tile, Gradient* const* gradients,
                         Places* places) {
  const Chosen& chosen = view.state->chosen[tile.chosen];
  const TreeNode& parent = view.nodes[chosen.parent];
  const FeatureView& feature = view.feature[parent.best.feature];
  const SideOfBin side(view, chosen.parent, feature.shape);
  const TileRows from(view, chosen.parent, parent, tile.number);
  const uint32_t count = from.count;
  const Gradient* const from_gradients = gradients[parent.side] + from.begin;
  // Children that are too deep to be split need their rows alone, for scores.
  const bool needs_gradients = view.max_depth == 0 || parent.depth + 1 < view.max_depth;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  uint32_t row[kRowsOfThread];
  Gradient gradient[kRowsOfThread];
  uint32_t left_lanes[kRowsOfThread];
#pragma unroll
  for (unsigned j = 0; j < kRowsOfThread; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    if (i < count) {
      row[j] = from.rows[i];
      if (needs_gradients) gradient[j] = from_gradients[i];
    }
  }
  uint32_t bin[kRowsOfThread];
  LoadBins(feature, row, count, bin);
#pragma unroll
  for (unsigned j = 0; j < kRowsOfThread; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    left_lanes[j] = __ballot_sync(kWholeWarp, i < count && side.IsLeft(bin[j]));
    if (lane == 0) places->left_before[j * kWarps + warp] = __popc(left_lanes[j]);
  }
  __syncthreads();
  if (warp == 0) SumPlaces(places);
  if (threadIdx.x == 0) TakeRoom(view, chosen.children, count, places);
  __syncthreads();
  const uint32_t right = count - places->left;
  uint32_t* const to_rows = view.row_buffers[1 - parent.side];
  Gradient* const to_gradients = gradients[1 - parent.side];
#pragma unroll
  for (unsigned j = 0; j < kRowsOfThread; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    if (i >= count) continue;
    const uint32_t left_before =
        places->left_before[j * kWarps + warp] + __popc(left_lanes[j] & ((1U << lane) - 1));
    const bool goes_left = (left_lanes[j] >> lane & 1) != 0;
    const uint32_t to = goes_left ? places->left_begin + left_before
                                  : places->right_end - right + (i - left_before);
    to_rows[to] = row[j];
    if (needs_gradients) to_gradients[to] = gradient[j];
  }
  __syncthreads();
}

// The new histograms of the step begin as zeros, where blocks of threads are going to add to them.
__device__ void ClearHistograms(const TreeView& view, const TileMap& map) {
  for (const int32_t slot : map.slot_to_clear) {
    if (slot < 0) continue;
    auto* const words = reinterpret_cast<uint4*>(view.histograms +
                                                 static_cast<uint64_t>(slot) * view.histogram_size);
    for (uint64_t at = uint64_t{blockIdx.x} * kThreads + threadIdx.x; at < view.histogram_size;
         at += uint64_t{gridDim.x} * kThreads) {
      words[at] = uint4{0, 0, 0, 0};
    }
  }
}

__global__ void __launch_bounds__(kThreads, kPartitionBlocks)
    Partition(const __grid_constant__ TreeView view) {
  __shared__ Places places;
  __shared__ TileMap map;
  const int32_t leaves = view.state->chosen_count;
  if (leaves == 0) return;
  map.Fill(view);
  ClearHistograms(view, map);
  for (uint32_t number = blockIdx.x; number < map.count; number += gridDim.x) {
    const int32_t leaf = map.LeafOf(number, leaves);
    const Tile tile{leaf, number - map.first[leaf]};
    if (view.nodes[view.state->chosen[leaf].children].marked) {
      MarkTile(view, tile);
    } else if (view.is_wide) {
      MoveTile(view, tile, view.gradients32, &places);
    } else {
      MoveTile(view, tile, view.gradients16, &places);
    }
  }
  TellAtEnd(view, StepTopic::kCounts);
}

}  // namespace

void PartitionLeaves(const TreeView& view, uint32_t blocks, cudaStream_t stream) {
  Partition<<<blocks, kThreads, 0, stream>>>(view);
}

}  // namespace strata::gpu_tree
