// What the host makes of a tree that a GPU has grown, and of one that rows are to walk down.
#pragma once

#include <span>
#include <vector>

#include "kernels/tree/gradient/row_kernels.cuh"
#include "kernels/tree/grow/device_tree.cuh"
#include "kernels/tree/grow/grown_tree.h"

namespace strata::gpu_tree {

// A tree as it was on the GPU.
struct FetchedNodes {
  TreeState state;
  std::span<TreeNode> nodes;    // who fetched them has them
  std::vector<int32_t> popped;  // nodes of the tree in their order
  std::vector<uint32_t> sets;   // node * words + word
};

// Takes splits in the policy's order, up to a number of leaves: numbers nodes, and says which are
// in the tree, and in which order. The node whose split it lacks; -1: none.
int32_t Replay(GrowPolicy policy, size_t leaves_max, FetchedNodes* fetched);

// What Replay has found, for the same tree of another GPU.
void TakeOrder(const FetchedNodes& from, FetchedNodes* to);

// Once replayed; without rows.
void MakeGrownTree(const FetchedNodes& fetched, uint32_t set_words, GrownTree* tree);
// The rows that one GPU has.
struct RowsOfPart {
  const FetchedNodes* fetched = nullptr;
  std::vector<uint32_t> sides[2];  // the two buffers of rows
  uint32_t first_row = 0;          // of the data
};
// Leaf by leaf, ascending within each.
void PutRows(std::span<const RowsOfPart> parts, GrownTree* tree, std::vector<uint32_t>* rows);
// Where the rows of nodes without children lie, unless they are marked.
std::vector<LeafSegment> SegmentsOf(const FetchedNodes& fetched);
// Of each of those nodes, the value of the leaf that it belongs to: several belong to a leaf whose
// split turned out not to be needed.
std::vector<double> ValuesOfNodes(const FetchedNodes& fetched, std::span<const double> of_leaves);

struct WalkTable {
  std::vector<WalkNode> nodes;
  std::vector<uint32_t> sets;
};
// `features`: of the data that walks.
WalkTable WalkTableOf(const GrownTree& tree, std::span<const FeatureView> features);

}  // namespace strata::gpu_tree
