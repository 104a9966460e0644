#include "worker/gbdt/model/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {

size_t Tree::Depth() const {
  if (nodes.empty()) return 0;
  std::vector<std::pair<int32_t, size_t>> open = {{0, 1}};
  size_t depth = 0;
  while (!open.empty()) {
    const auto [at, level] = open.back();
    open.pop_back();
    depth = std::max(depth, level);
    const TreeNode& node = nodes[static_cast<size_t>(at)];
    for (const int32_t child : {node.left, node.right}) {
      if (child >= 0) open.emplace_back(child, level + 1);
    }
  }
  return depth;
}

Status CheckTreeShape(const Tree& tree, const std::string& where) {
  const auto wrong = [&](const std::string& what) {
    return Corrupt(fmt::format("{}: {}", where, what));
  };
  if (tree.leaves.size() != tree.nodes.size() + 1) {
    return wrong(fmt::format("{} nodes make {} leaves, found {}", tree.nodes.size(),
                             tree.nodes.size() + 1, tree.leaves.size()));
  }
  if (tree.nodes.empty()) return {};
  std::vector<bool> node_seen(tree.nodes.size(), false);
  std::vector<bool> leaf_seen(tree.leaves.size(), false);
  std::vector<int32_t> open = {0};
  node_seen[0] = true;
  size_t reached = 0;
  while (!open.empty()) {
    const TreeNode& node = tree.nodes[static_cast<size_t>(open.back())];
    open.pop_back();
    ++reached;
    for (const int32_t child : {node.left, node.right}) {
      const auto place = static_cast<size_t>(child >= 0 ? child : ~child);
      std::vector<bool>& seen = child >= 0 ? node_seen : leaf_seen;
      if (place >= seen.size()) {
        return wrong(fmt::format("child {}: the tree has {} nodes and {} leaves", child,
                                 tree.nodes.size(), tree.leaves.size()));
      }
      if (seen[place]) return wrong(fmt::format("child {} has two parents", child));
      seen[place] = true;
      if (child >= 0) open.push_back(child);
    }
  }
  if (reached == tree.nodes.size()) return {};
  return wrong(fmt::format("{} of {} nodes are not reached from the root",
                           tree.nodes.size() - reached, tree.nodes.size()));
}

}  // namespace strata
