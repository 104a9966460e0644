#include "tests/worker/gbdt/random_model.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>

namespace strata {
namespace {

double RandomValue(Random& random) {
  switch (random.Below(8)) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<double>::quiet_NaN();
    case 2:
      return random.Chance(0.5) ? 1e-36 : -1e-36;
    case 3:
      return (random.Chance(0.5) ? 1 : -1) * std::numeric_limits<double>::infinity();
    case 4: {
      constexpr double kEdges[] = {-1, -0.75, 2147483647.5, 2147483648.0, 1e300, -1e300};
      return kEdges[random.Below(std::size(kEdges))];
    }
    default:
      return (static_cast<double>(random.Below(81)) - 20) / 2;
  }
}

void AddSet(Tree* tree, Random& random) {
  for (uint64_t words = random.Below(3); words > 0; --words) {
    tree->set_words.push_back(static_cast<uint32_t>(random.Next()));
  }
  tree->set_begins.push_back(static_cast<uint32_t>(tree->set_words.size()));
}

Tree RandomTree(const RandomModelOptions& options, Random& random) {
  Tree tree;
  tree.leaves.resize(1);
  // A leaf becomes a node, keeps its number on the left, and gets the next one on the right.
  std::vector<std::pair<size_t, bool>> parent = {{0, true}};  // of leaves: node, whether left
  while (tree.leaves.size() < options.leaves) {
    const size_t leaf = random.Below(tree.leaves.size());
    const auto number = static_cast<int32_t>(tree.nodes.size());
    if (number > 0) {
      TreeNode& above = tree.nodes[parent[leaf].first];
      (parent[leaf].second ? above.left : above.right) = number;
    }
    TreeNode node = {.feature = static_cast<int32_t>(random.Below(options.features)),
                     .threshold = (static_cast<double>(random.Below(81)) - 20) / 2,
                     .categorical = options.categorical && random.Chance(0.5),
                     .default_left = random.Chance(0.5),
                     .missing = static_cast<MissingKind>(random.Below(3)),
                     .left = ~static_cast<int32_t>(leaf),
                     .right = ~static_cast<int32_t>(tree.leaves.size()),
                     .gain = random.Uniform() + 0.1};
    if (random.Chance(0.1)) {
      node.threshold = (random.Chance(0.5) ? 1 : -1) * std::numeric_limits<double>::infinity();
    }
    if (node.categorical) {
      node.threshold = static_cast<double>(tree.set_begins.size() - 1);
      AddSet(&tree, random);
    }
    tree.nodes.push_back(node);
    tree.leaves.emplace_back();
    parent[leaf] = {static_cast<size_t>(number), true};
    parent.emplace_back(static_cast<size_t>(number), false);
  }
  for (TreeLeaf& leaf : tree.leaves) {
    leaf.value = random.Uniform() * 2 - 1;
    leaf.rows = 1 + static_cast<int64_t>(random.Below(50));
    leaf.weight = static_cast<double>(leaf.rows) / 4;
  }
  // Children come behind their parents.
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    for (const int32_t child : {tree.nodes[i].left, tree.nodes[i].right}) {
      tree.nodes[i].rows += child < 0 ? tree.leaves[static_cast<size_t>(~child)].rows
                                      : tree.nodes[static_cast<size_t>(child)].rows;
    }
    tree.nodes[i].weight = static_cast<double>(tree.nodes[i].rows) / 4;
  }
  return tree;
}

}  // namespace

TreeModel RandomModel(const RandomModelOptions& options, Random& random) {
  TreeModel model;
  model.classes = options.classes;
  model.trees_per_iteration = options.classes * options.parallel;
  for (size_t f = 0; f < options.features; ++f) {
    model.feature_names.push_back(fmt::format("f{}", f));
    model.feature_infos.emplace_back("none");
  }
  for (size_t t = 0; t < model.trees_per_iteration * options.iterations; ++t) {
    model.trees.push_back(RandomTree(options, random));
  }
  return model;
}

std::vector<std::vector<double>> RandomRows(size_t features, size_t count, Random& random) {
  std::vector<std::vector<double>> rows(count, std::vector<double>(features));
  for (std::vector<double>& row : rows) {
    for (double& value : row) value = RandomValue(random);
  }
  return rows;
}

}  // namespace strata
