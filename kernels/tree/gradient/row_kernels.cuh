// What is done with all rows between trees: gradients become integers of the bag's rows, and scores
// come from leaves.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/tree/gradient/slopes.cuh"
#include "kernels/tree/grow/device_tree.cuh"

namespace strata::gpu_tree {

// Which rows are in the bag: all, those that are marked, or those whose number drawn from the seed
// is below their share.
struct BagView {
  bool is_all = true;
  const uint8_t* marks = nullptr;
  double share = 1;
  double positive_share = 1;
  const float* labels = nullptr;  // null: shares are the same
  uint64_t seed = 0;
  // Unless null, rows of the data that queries begin with, the first one with row 0: a query is
  // drawn with all its rows.
  const uint32_t* query_begins = nullptr;
  uint32_t queries = 0;
};

// The root's rows and gradients, of the bag, from slopes of the sizes that the state has; units and
// the root's sums go to the state, whose bag_count and sums are 0.
void RoundSlopes(const TreeView& view, const Slope* slopes, const GpuRounding& rounding,
                 uint64_t seed, const BagView& bag, cudaStream_t stream);
// The root's gradients, of its rows, which are there by their number in the data, from those of all
// rows of this GPU.
void GatherGradients(const TreeView& view, const void* by_row, uint32_t count,
                     const GradientUnits& units, cudaStream_t stream);

// A node of a tree that rows walk down.
struct WalkNode {
  const void* bins = nullptr;  // of its feature, row_stride apart
  uint32_t row_stride = 0;
  uint32_t threshold = 0;
  uint32_t missing_bin = ~0U;  // none
  int32_t set = -1;            // where its words begin; -1: not categorical
  int32_t left = 0;            // a node, or ~leaf
  int32_t right = 0;
  bool missing_left = false;
  bool wide = false;
};

// scores[row] += values[leaf of row], of all rows.
void WalkRows(const WalkNode* nodes, const uint32_t* sets, const double* values, uint64_t rows,
              double* scores, cudaStream_t stream);

// Rows that are in one node.
struct LeafSegment {
  uint32_t begin;
  uint32_t count;
  uint32_t side;
  uint32_t node;
  uint32_t leaf;  // of the tree: that which the node belongs to
  uint32_t first_tile;
};
constexpr uint32_t kSegmentTile = 2048;

// The view's node_of[row] is the node, or the leaf, of each row in them.
enum class SegmentMark : uint8_t { kNode, kLeaf };
void MarkSegments(const TreeView& view, const LeafSegment* segments, uint32_t count, uint32_t tiles,
                  SegmentMark mark, cudaStream_t stream);
// Sums of a leaf's slopes in halves, as ExactSum has them.
struct SlopeHalves {
  long long gradient_upper;
  unsigned long long gradient_lower;
  long long hessian_upper;
  unsigned long long hessian_lower;
};
// Adds the slopes of rows in segments to those of their leaves, in units of these exponents.
void SumSegments(const TreeView& view, const LeafSegment* segments, uint32_t count, uint32_t tiles,
                 const Slope* slopes, int gradient_exponent, int hessian_exponent,
                 SlopeHalves* of_leaves, cudaStream_t stream);

// WalkRows for a tree that the view has, by the values of its nodes: all rows lie in segments, or
// are marked.
void AddSegments(const TreeView& view, const LeafSegment* segments, uint32_t count, uint32_t tiles,
                 const double* values, double* scores, cudaStream_t stream);

}  // namespace strata::gpu_tree
