// A tree that grows in a GPU's memory, and the kernels that take it a step further. One step splits
// up to kChosenMax leaves: those that best-first growth takes next for certain, and those that it
// is likely to take later, so that small leaves fill the GPU together. The host finds the
// best-first order at the end (Replay), so that the result is what one split after another gives.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/hash.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/grow/growth.h"
#include "kernels/tree/split/feature_shape.h"
#include "kernels/tree/split/node_draw.h"
#include "strata/status.h"

namespace strata::gpu_tree {

constexpr int kChosenMax = 32;                // leaves split in one step
constexpr int kLanes = 32;                    // features side by side in a block of bins
constexpr int kGroupFeatures = 8;             // that a block of threads searches
constexpr uint32_t kHistogramRowsMin = 4096;  // a leaf with fewer is added up by one block
constexpr uint32_t kHistogramBlocks = 1;      // of threads that an SM is to hold
constexpr uint32_t kPartitionBlocks = 4;      // likewise
constexpr uint32_t kGpusMax = 16;             // that grow a tree together

// A split as the search leaves it. Copied by 16 bytes.
struct alignas(16) DeviceSplit {
  double gain = 0;  // 0: none
  int32_t feature = -1;
  uint32_t threshold = 0;  // of a subset of categories: the last one that it took
  GradientSums left;
  double left_output = 0;
  double right_output = 0;
  bool default_left = false;
  bool categorical = false;
  bool is_subset = false;   // of more than one category
  bool from_front = false;  // of the order of a subset's categories
  int8_t monotone = 0;

  __host__ __device__ bool exists() const { return gain > 0; }
};

// A leaf, split or not.
struct TreeNode {
  DeviceSplit best;
  SplitLeaf leaf;       // but for its rows
  uint32_t anchor = 0;  // where its rows begin, or end
  uint32_t count = 0;   // of its rows on this GPU
  uint32_t others = 0;  // of its rows on the others
  int32_t parent = -1;
  int32_t children = -1;                 // the left one; the right one is behind it
  int32_t slot = -1;                     // of its histogram
  int32_t number = -1;                   // as a leaf; Replay gives it
  uint64_t path = 0;                     // RootPath, ChildPath
  uint64_t interactions = ~uint64_t{0};  // those of all features above it
  uint32_t depth = 0;
  uint8_t side = 0;  // which of the two buffers has its rows
  bool ends_at_anchor = false;
  bool is_left = false;
  bool popped = false;  // is in the tree as a node for certain
  bool marked = false;  // its rows are those that TreeView::node_of says

  __host__ __device__ uint32_t begin() const { return ends_at_anchor ? anchor - count : anchor; }
  __host__ __device__ int64_t rows() const { return int64_t{count} + others; }
  __host__ __device__ SplitLeaf AsLeaf() const {
    SplitLeaf with_rows = leaf;
    with_rows.rows = rows();
    return with_rows;
  }
};

// A leaf that the step splits, or, with one child, the root that it searches.
struct Chosen {
  int32_t parent = -1;
  int32_t children = 0;
  int32_t parent_slot = -1;
  int32_t new_slot = 0;
};

// The largest slopes of some rows, and how many are not finite, and do not count.
struct SlopeSizes {
  uint32_t gradient = 0;  // a float's bits
  uint32_t hessian = 0;
  unsigned long long not_finite = 0;
};

struct TreeState {
  Chosen chosen[kChosenMax];
  int32_t chosen_count = 0;
  int32_t node_count = 0;
  int32_t slot_count = 0;
  int32_t pop_count = 0;
  int32_t needed = 0;  // if not 0, one more than a leaf that is to be split, whatever else
  int32_t done = 0;
  uint32_t blocks_at_end = 0;  // of threads, of a kernel
  uint32_t lost = 0;           // if not 0, one more than a GPU that did not come to a meeting
  uint32_t steps = 0;
  uint32_t choices = 0;           // steps, and one more unless the last one was known to be it
  uint32_t rows_are_all = 0;      // 1: the root has all rows in their order, and no list of them
  uint32_t first_meeting = 0;     // of the tree
  uint32_t features_of_node = 0;  // how many of the tree's a node may use
  // Of the gradients; of all GPUs' once they have met.
  uint32_t bag_count = 0;   // on this GPU
  uint32_t bag_others = 0;  // on the others
  SlopeSizes largest;
  unsigned long long root_gradient = 0;  // two's complement
  unsigned long long root_hessian = 0;
  GradientUnits units;
};

struct FeatureView {
  FeatureShape shape;
  uint64_t histogram = 0;         // where its bin 0 is in a histogram
  uint32_t histogram_stride = 1;  // from one bin to the next
  uint32_t row_stride = 1;        // from one row to the next in `rows`
  const void* column = nullptr;   // row after row
  const void* rows = nullptr;     // likewise, among the features of its block
  bool wide = false;              // bins are of 16 bits
};

struct BlockView {
  const void* bins = nullptr;
  uint64_t histogram = 0;  // of narrow ones: bin * stride + lane
  uint32_t first_feature = 0;
  uint32_t features = 0;
  uint32_t stride = 0;
  uint32_t bins_max = 0;
  bool wide = false;
};

// What GPUs that grow a tree together tell each other at a meeting. Between trees:
enum class Topic : uint8_t {
  kLargest,  // gradients
  kRoot,     // sums of the root
};
// In a step, by the kernels themselves, in this order:
enum class StepTopic : uint8_t {
  kCounts,      // rows of children
  kHistograms,  // that they are there
  kSplits,      // that each GPU's best ones are there
};
constexpr uint32_t kStepMeetings = 3;

struct Letter {
  SlopeSizes largest;
  unsigned long long root_gradient;
  unsigned long long root_hessian;
  uint32_t bag_count;
  uint32_t counts[kChosenMax * 2];  // chosen * 2 + 1 if right
};

// Of one GPU; all write to it.
struct Mailbox {
  uint32_t meetings;        // that its own GPU has come to
  uint32_t told[kGpusMax];  // the last meeting that each GPU has come to
  // By whether a meeting's number is odd: a GPU may be at the next one while this one still reads.
  Letter letters[2][kGpusMax];
};

// All that the kernels of a tree work on; in the GPU's memory but for itself.
struct TreeView {
  uint64_t rows = 0;
  uint64_t first_row = 0;  // of the data: rows of other GPUs are before it
  uint32_t features = 0;
  uint32_t blocks = 0;
  const FeatureView* feature = nullptr;
  const BlockView* block = nullptr;
  uint64_t histogram_size = 0;  // of one leaf
  uint8_t* feature_used = nullptr;
  TreeState* state = nullptr;
  TreeNode* nodes = nullptr;
  uint8_t* splittable = nullptr;  // node * features + feature
  uint32_t* sets = nullptr;       // node * set_words: bins of categories that go left
  uint32_t set_words = 0;
  GradientSums* histograms = nullptr;  // slot * histogram_size
  DeviceSplit* found = nullptr;        // (chosen * 2 + child) * groups + group, of all GPUs
  uint32_t* row_buffers[2] = {};
  uint16_t* node_of = nullptr;  // of each row, where it is marked
  bool keeps_rows = false;      // GpuTreeOptions::keeps_rows
  uint32_t* gradients16[2] = {};
  Row32* gradients32[2] = {};
  bool is_wide = false;  // gradients of 32 bits
  int32_t leaves_max = 0;
  int32_t node_capacity = 0;
  int32_t chosen_max = kChosenMax;  // leaves that a step is to split
  uint32_t max_depth = 0;
  GrowPolicy policy = GrowPolicy::kLossGuide;
  const double* monotone_factors = nullptr;  // by depth; null: all 1
  uint32_t histogram_grid = 1;               // blocks of threads that run at once
  SplitRules rules;
  double bynode = 1;
  uint64_t feature_seed = 0;
  bool extra_trees = false;
  uint64_t extra_seed = 0;
  // Of the GPUs that grow the tree together: each has the tree and a part of the rows, and searches
  // a part of the features, of which it has the sums of all.
  uint32_t gpu = 0;
  uint32_t gpus = 1;
  Mailbox* mailboxes[kGpusMax] = {};
  GradientSums* histograms_of[kGpusMax] = {};
  DeviceSplit* found_of[kGpusMax] = {};

  // Groups of features that a GPU searches; and who does.
  __host__ __device__ uint32_t FirstGroupOf(uint32_t of_gpu) const {
    return static_cast<uint32_t>(uint64_t{of_gpu} * groups() / gpus);
  }
  __host__ __device__ uint32_t OwnGroups() const {
    return FirstGroupOf(gpu + 1) - FirstGroupOf(gpu);
  }
  __host__ __device__ uint32_t OwnerOf(uint32_t feature) const {
    return static_cast<uint32_t>((uint64_t{feature / kGroupFeatures + 1} * gpus - 1) / groups());
  }
  __host__ __device__ uint32_t groups() const {
    return (features + kGroupFeatures - 1) / kGroupFeatures;
  }
  __device__ bool IsTooDeep(const TreeNode& node) const {
    return max_depth > 0 && node.depth >= max_depth;
  }
  __device__ bool CanSplit(const TreeNode& node, int64_t rows) const {
    return !IsTooDeep(node) && rows >= 2 * rules.min_data_in_leaf;
  }
  __device__ bool CanSplit(const TreeNode& node) const { return CanSplit(node, node.rows()); }
};

// The children of a leaf that was chosen, by the rows they have.
struct ChildPair {
  int32_t smaller = 0;
  int32_t larger = -1;  // none: the root
  bool any_can_split = false;

  __device__ ChildPair(const TreeView& view, const Chosen& chosen)
      : ChildPair(view, chosen, view.nodes[chosen.children].rows(),
                  chosen.parent < 0 ? 0 : view.nodes[chosen.children + 1].rows()) {}
  __device__ ChildPair(const TreeView& view, const Chosen& chosen, int64_t left_rows,
                       int64_t right_rows) {
    const TreeNode* const left = view.nodes + chosen.children;
    smaller = chosen.children;
    any_can_split = view.CanSplit(left[0], left_rows);
    if (chosen.parent < 0) return;
    const bool left_is_smaller = left_rows < right_rows;
    smaller = chosen.children + (left_is_smaller ? 0 : 1);
    larger = chosen.children + (left_is_smaller ? 1 : 0);
    any_can_split = any_can_split || view.CanSplit(left[1], right_rows);
  }
};

// The rows of a part of a leaf.
struct RowList {
  const uint32_t* rows = nullptr;  // null: one after the other
  uint32_t first = 0;

  // From a place of the leaf's buffer on.
  __device__ RowList(const TreeView& view, bool is_root, uint8_t side, uint32_t begin) {
    if (is_root && view.state->rows_are_all != 0) {
      first = begin;
    } else {
      rows = view.row_buffers[side] + begin;
    }
  }
  __device__ uint32_t operator[](uint32_t at) const {
    return rows == nullptr ? first + at : rows[at];
  }
};

__device__ inline uint32_t BinAt(const void* bins, bool wide, uint64_t at) {
  return wide ? static_cast<const uint16_t*>(bins)[at] : static_cast<const uint8_t*>(bins)[at];
}

// The steps of a tree, enqueued one by one.
// The root, from the state's sums.
void BeginTree(const TreeView& view, uint64_t tree_number, cudaStream_t stream);
Status PrepareChoice(const TreeView& view);  // once, before it
void ChooseLeaves(const TreeView& view, cudaStream_t stream);
void PartitionLeaves(const TreeView& view, uint32_t blocks, cudaStream_t stream);
void BuildHistograms(const TreeView& view, uint32_t shared_bytes, cudaStream_t stream);
Status PrepareSearch();  // once, before it
void SearchLeaves(const TreeView& view, uint32_t processors, cudaStream_t stream);

// Of several GPUs, behind what a topic is of. A GPU tells all, then waits until all have told it: a
// GPU that has told needs no other to be heard. One that does not come, for about half a minute,
// ends the tree: TreeState::lost.
struct MeetingParts {
  bool tells = true;
  bool hears = true;
};
void MeetPeers(const TreeView& view, Topic topic, MeetingParts parts, cudaStream_t stream);

// Shared memory that a block of threads of BuildHistograms needs for features of so many bins,
// which is to be announced once.
uint32_t HistogramSharedBytes(const TreeView& view, uint32_t bins_max);
Status PrepareHistograms(uint32_t shared_bytes);

}  // namespace strata::gpu_tree
