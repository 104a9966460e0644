#include "worker/gbdt/grower/best_first.h"

#include <algorithm>
#include <queue>

namespace strata {
namespace {

// A leaf of the growing tree.
struct Candidate {
  int32_t id = 0;  // in the known tree: a node, or ~leaf
  size_t number = 0;
  const Split* split = nullptr;
  size_t forced = 0;  // its place among forced splits, or their number
  size_t depth = 0;   // 0 where that does not matter
};

// Equal splits: the leaf that is there for longer.
struct ComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.forced != b.forced) return a.forced > b.forced;
    if (a.depth != b.depth) return a.depth > b.depth;
    if (IsBetter(*a.split, *b.split)) return false;
    return IsBetter(*b.split, *a.split) || a.number > b.number;
  }
};

const GrownNode& NodeOf(const KnownTree& known, int32_t id) {
  return known.tree.nodes[static_cast<size_t>(id)];
}

}  // namespace

std::vector<int32_t> BestFirstOrder(const KnownTree& known, size_t splits_max) {
  std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> open;
  const auto add = [&](int32_t id, size_t number) {
    const Split* const split =
        id >= 0 ? &NodeOf(known, id).split : known.best[static_cast<size_t>(~id)];
    if (!split->exists()) return;
    const GrownLeaf& leaf = id >= 0 ? known.before[static_cast<size_t>(id)]
                                    : known.tree.leaves[static_cast<size_t>(~id)];
    const auto node = id >= 0 ? static_cast<size_t>(id) : known.forced;
    open.push({.id = id,
               .number = number,
               .split = split,
               .forced = std::min(node, known.forced),
               .depth = known.policy == GrowPolicy::kDepthWise ? leaf.depth : 0});
  };
  std::vector<int32_t> order;
  add(known.tree.nodes.empty() ? ~0 : 0, 0);
  while (!open.empty() && order.size() < splits_max) {
    const Candidate next = open.top();
    open.pop();
    order.push_back(next.id);
    if (next.id < 0) continue;
    add(NodeOf(known, next.id).left, next.number);
    add(NodeOf(known, next.id).right, order.size());
  }
  return order;
}

GrownTree TakeInOrder(const KnownTree& known, std::span<const int32_t> order,
                      std::vector<size_t>* merged) {
  GrownTree taken;
  std::vector<int32_t> ids = {known.tree.nodes.empty() ? ~0 : 0};  // of each leaf taken
  std::vector<size_t> number_of(known.tree.nodes.size(), 0);       // of each node, while a leaf
  const auto leaf_of = [&](int32_t id) {
    return id >= 0 ? known.before[static_cast<size_t>(id)]
                   : known.tree.leaves[static_cast<size_t>(~id)];
  };
  taken.leaves.push_back(leaf_of(ids[0]));
  for (const int32_t id : order) {
    const GrownNode& node = NodeOf(known, id);
    const size_t left = number_of[static_cast<size_t>(id)];
    const size_t right = taken.leaves.size();
    const auto at = static_cast<int32_t>(taken.nodes.size());
    const GrownLeaf& leaf = taken.leaves[left];
    if (leaf.parent >= 0) {
      GrownNode& above = taken.nodes[static_cast<size_t>(leaf.parent)];
      (leaf.is_left ? above.left : above.right) = at;
    }
    taken.nodes.push_back(node);
    taken.nodes.back().left = ~static_cast<int32_t>(left);
    taken.nodes.back().right = ~static_cast<int32_t>(right);
    taken.leaves.emplace_back();
    ids.emplace_back();
    for (const bool is_left : {true, false}) {
      const int32_t child = is_left ? node.left : node.right;
      const size_t number = is_left ? left : right;
      taken.leaves[number] = leaf_of(child);
      taken.leaves[number].parent = at;
      taken.leaves[number].is_left = is_left;
      ids[number] = child;
      if (child >= 0) number_of[static_cast<size_t>(child)] = number;
    }
  }
  merged->clear();
  for (size_t leaf = 0; leaf < ids.size(); ++leaf) {
    if (ids[leaf] >= 0) merged->push_back(leaf);
  }
  return taken;
}

}  // namespace strata
