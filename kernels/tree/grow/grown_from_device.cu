#include <algorithm>
#include <queue>

#include "kernels/tree/grow/grown_from_device.cuh"

namespace strata::gpu_tree {
namespace {

// The leaf of the tree that a node's rows belong to.
size_t LeafOf(const FetchedNodes& fetched, size_t at) {
  const TreeNode* node = &fetched.nodes[at];
  while (node->parent >= 0 && !fetched.nodes[static_cast<size_t>(node->parent)].popped) {
    node = &fetched.nodes[static_cast<size_t>(node->parent)];
  }
  return static_cast<size_t>(node->number);
}

std::vector<uint32_t> BinsOfSet(std::span<const uint32_t> words) {
  std::vector<uint32_t> bins;
  for (uint32_t bin = 0; bin < words.size() * 32; ++bin) {
    if ((words[bin / 32] >> (bin % 32) & 1) != 0) bins.push_back(bin);
  }
  return bins;
}

Split ToSplit(const FetchedNodes& fetched, uint32_t set_words, size_t at) {
  const TreeNode& node = fetched.nodes[at];
  const DeviceSplit& found = node.best;
  Split split;
  split.gain = found.gain;
  split.feature = found.feature;
  split.threshold = found.categorical && found.is_subset ? 0 : found.threshold;
  split.default_left = found.default_left;
  split.categorical = found.categorical;
  split.left = found.left;
  split.right = node.leaf.sums - found.left;
  split.left_output = found.left_output;
  split.right_output = found.right_output;
  split.monotone = found.monotone;
  if (found.categorical) {
    split.left_bins = BinsOfSet(std::span(fetched.sets).subspan(at * set_words, set_words));
  }
  return split;
}

}  // namespace

int32_t Replay(GrowPolicy policy, size_t leaves_max, FetchedNodes* fetched) {
  // The largest gain, then the smaller feature, then the smaller number of a leaf comes first.
  const auto comes_later = [policy, fetched](int32_t a, int32_t b) {
    const TreeNode& x = fetched->nodes[static_cast<size_t>(a)];
    const TreeNode& y = fetched->nodes[static_cast<size_t>(b)];
    if (policy == GrowPolicy::kDepthWise && x.depth != y.depth) return x.depth > y.depth;
    if (x.best.gain != y.best.gain) return x.best.gain < y.best.gain;
    if (x.best.feature != y.best.feature) return x.best.feature > y.best.feature;
    return x.number > y.number;
  };
  std::priority_queue<int32_t, std::vector<int32_t>, decltype(comes_later)> queue(comes_later);
  const auto offer = [&](int32_t at, int32_t number) {
    TreeNode& node = fetched->nodes[static_cast<size_t>(at)];
    node.number = number;
    if (node.best.exists()) queue.push(at);
  };
  fetched->popped.clear();
  for (TreeNode& node : fetched->nodes) node.popped = false;
  offer(0, 0);
  while (!queue.empty() && fetched->popped.size() + 1 < leaves_max) {
    const int32_t at = queue.top();
    queue.pop();
    TreeNode& node = fetched->nodes[static_cast<size_t>(at)];
    if (node.children < 0) return at;
    node.popped = true;
    fetched->popped.push_back(at);
    offer(node.children, node.number);
    offer(node.children + 1, static_cast<int32_t>(fetched->popped.size()));
  }
  return -1;
}

void TakeOrder(const FetchedNodes& from, FetchedNodes* to) {
  to->popped = from.popped;
  for (size_t at = 0; at < to->nodes.size(); ++at) {
    to->nodes[at].number = from.nodes[at].number;
    to->nodes[at].popped = from.nodes[at].popped;
  }
}

void MakeGrownTree(const FetchedNodes& fetched, uint32_t set_words, GrownTree* tree) {
  tree->nodes.clear();
  tree->leaves.assign(fetched.popped.size() + 1, GrownLeaf{});
  tree->rows = {};
  std::vector<int32_t> number_of(fetched.nodes.size(), -1);  // of nodes in the tree
  for (size_t i = 0; i < fetched.popped.size(); ++i) {
    number_of[static_cast<size_t>(fetched.popped[i])] = static_cast<int32_t>(i);
  }
  const auto put_leaf = [&](size_t at) {
    const TreeNode& node = fetched.nodes[at];
    GrownLeaf& leaf = tree->leaves[static_cast<size_t>(node.number)];
    leaf.leaf = node.AsLeaf();
    leaf.count = static_cast<size_t>(node.rows());
    leaf.depth = node.depth;
    leaf.parent = node.parent < 0 ? -1 : number_of[static_cast<size_t>(node.parent)];
    leaf.is_left = node.is_left;
  };
  const auto child = [&](int32_t at) {
    const TreeNode& node = fetched.nodes[static_cast<size_t>(at)];
    if (node.popped) return number_of[static_cast<size_t>(at)];
    put_leaf(static_cast<size_t>(at));
    return ~node.number;
  };
  if (fetched.popped.empty()) put_leaf(0);
  for (const int32_t popped : fetched.popped) {
    const auto at = static_cast<size_t>(popped);
    const TreeNode& node = fetched.nodes[at];
    tree->nodes.push_back({.split = ToSplit(fetched, set_words, at),
                           .left = child(node.children),
                           .right = child(node.children + 1),
                           .leaf = node.AsLeaf()});
  }
  size_t begin = 0;
  for (GrownLeaf& leaf : tree->leaves) {
    leaf.begin = begin;
    begin += leaf.count;
  }
}

std::vector<LeafSegment> SegmentsOf(const FetchedNodes& fetched) {
  std::vector<LeafSegment> segments;
  uint32_t tiles = 0;
  for (size_t at = 0; at < fetched.nodes.size(); ++at) {
    const TreeNode& node = fetched.nodes[at];
    if (node.children >= 0 || node.count == 0 || node.marked) continue;
    segments.push_back({.begin = node.begin(),
                        .count = node.count,
                        .side = node.side,
                        .node = static_cast<uint32_t>(at),
                        .leaf = static_cast<uint32_t>(LeafOf(fetched, at)),
                        .first_tile = tiles});
    tiles += (node.count + kSegmentTile - 1) / kSegmentTile;
  }
  return segments;
}

std::vector<double> ValuesOfNodes(const FetchedNodes& fetched, std::span<const double> of_leaves) {
  std::vector<double> values(fetched.nodes.size(), 0);
  for (size_t at = 0; at < values.size(); ++at) {
    if (fetched.nodes[at].children < 0) values[at] = of_leaves[LeafOf(fetched, at)];
  }
  return values;
}

void PutRows(std::span<const RowsOfPart> parts, GrownTree* tree, std::vector<uint32_t>* rows) {
  std::vector<size_t> filled;
  size_t all = 0;
  for (const GrownLeaf& leaf : tree->leaves) {
    filled.push_back(leaf.begin);
    all += leaf.count;
  }
  rows->resize(all);
  for (const RowsOfPart& part : parts) {
    for (const LeafSegment& segment : SegmentsOf(*part.fetched)) {
      const uint32_t* const from = part.sides[segment.side].data() + segment.begin;
      size_t& to = filled[segment.leaf];
      std::transform(from, from + segment.count, rows->data() + to,
                     [&part](uint32_t row) { return row + part.first_row; });
      to += segment.count;
    }
  }
  for (const GrownLeaf& leaf : tree->leaves) {
    const auto begin = rows->begin() + static_cast<ptrdiff_t>(leaf.begin);
    std::sort(begin, begin + static_cast<ptrdiff_t>(leaf.count));
  }
  tree->rows = *rows;
}

WalkTable WalkTableOf(const GrownTree& tree, std::span<const FeatureView> features) {
  WalkTable table;
  if (tree.nodes.empty()) {  // all rows go to the one leaf
    table.nodes.push_back({.bins = features[0].rows,
                           .row_stride = 0,
                           .set = -1,
                           .left = ~0,
                           .right = ~0,
                           .wide = features[0].wide});
  }
  for (const GrownNode& grown : tree.nodes) {
    const FeatureView& feature = features[static_cast<size_t>(grown.split.feature)];
    WalkNode node{.bins = feature.rows,
                  .row_stride = feature.row_stride,
                  .threshold = grown.split.threshold,
                  .missing_bin = ~0U,
                  .set = -1,
                  .left = grown.left,
                  .right = grown.right,
                  .missing_left = grown.split.default_left,
                  .wide = feature.wide};
    if (grown.split.categorical) {
      node.set = static_cast<int32_t>(table.sets.size());
      table.sets.resize(table.sets.size() + (feature.shape.bins + 31) / 32, 0);
      for (const uint32_t bin : grown.split.left_bins) {
        table.sets[static_cast<size_t>(node.set) + bin / 32] |= 1U << (bin % 32);
      }
    } else if (feature.shape.missing == MissingKind::kNaN) {
      node.missing_bin = feature.shape.bins - 1;
    } else if (feature.shape.missing == MissingKind::kZero) {
      node.missing_bin = feature.shape.default_bin;
    }
    table.nodes.push_back(node);
  }
  return table;
}

}  // namespace strata::gpu_tree
