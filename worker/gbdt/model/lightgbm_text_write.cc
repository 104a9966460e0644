#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "worker/gbdt/model/lightgbm_text.h"

namespace strata {
namespace {

// Readers take no infinity and no NaN.
double Finite(double value) {
  if (std::isnan(value)) return 0;
  return std::clamp(value, -1e300, 1e300);
}

// "key=a b c" of what `of` says of each item.
template <typename Items, typename Of>
void WriteList(std::string* out, const char* key, const Items& items, const char* format,
               const Of& of) {
  *out += key;
  *out += '=';
  bool first = true;
  for (const auto& item : items) {
    if (!first) *out += ' ';
    first = false;
    *out += fmt::format(fmt::runtime(format), of(item));
  }
  *out += '\n';
}

int DecisionOf(const TreeNode& node) {
  return (node.categorical ? 1 : 0) | (node.default_left ? 2 : 0) |
         (static_cast<int>(node.missing) << 2);
}

std::string TreeText(const Tree& tree, size_t number) {
  constexpr const char* kExact = "{:.17g}";
  constexpr const char* kShort = "{:g}";
  constexpr const char* kPlain = "{}";
  std::string out = fmt::format("Tree={}\nnum_leaves={}\nnum_cat={}\n", number, tree.leaves.size(),
                                tree.set_begins.size() - 1);
  const auto nodes = [&](const char* key, const char* format, const auto& of) {
    WriteList(&out, key, tree.nodes, format, of);
  };
  const auto leaves = [&](const char* key, const char* format, const auto& of) {
    WriteList(&out, key, tree.leaves, format, of);
  };
  nodes("split_feature", kPlain, [](const TreeNode& n) { return n.feature; });
  nodes("split_gain", kShort, [](const TreeNode& n) { return Finite(n.gain); });
  nodes("threshold", kExact, [](const TreeNode& n) { return Finite(n.threshold); });
  nodes("decision_type", kPlain, DecisionOf);
  nodes("left_child", kPlain, [](const TreeNode& n) { return n.left; });
  nodes("right_child", kPlain, [](const TreeNode& n) { return n.right; });
  leaves("leaf_value", kExact, [](const TreeLeaf& l) { return Finite(l.value); });
  leaves("leaf_weight", kExact, [](const TreeLeaf& l) { return Finite(l.weight); });
  leaves("leaf_count", kPlain, [](const TreeLeaf& l) { return l.rows; });
  nodes("internal_value", kShort, [](const TreeNode& n) { return Finite(n.value); });
  nodes("internal_weight", kShort, [](const TreeNode& n) { return Finite(n.weight); });
  nodes("internal_count", kPlain, [](const TreeNode& n) { return n.rows; });
  if (tree.set_begins.size() > 1) {
    out += fmt::format("cat_boundaries={}\ncat_threshold={}\n", fmt::join(tree.set_begins, " "),
                       fmt::join(tree.set_words, " "));
  }
  out += fmt::format("is_linear=0\nshrinkage={:g}\n\n\n", tree.shrinkage);
  return out;
}

// How often each feature splits, most often first.
std::string ImportancesText(const TreeModel& model) {
  std::vector<std::pair<size_t, size_t>> splits(model.features());
  for (size_t f = 0; f < splits.size(); ++f) splits[f] = {0, f};
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      if (node.gain > 0) ++splits[static_cast<size_t>(node.feature)].first;
    }
  }
  std::ranges::stable_sort(splits, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = "\nfeature_importances:\n";
  for (const auto& [count, feature] : splits) {
    if (count > 0) out += fmt::format("{}={}\n", model.feature_names[feature], count);
  }
  return out;
}

}  // namespace

std::string WriteLightGbmText(const TreeModel& model) {
  std::string trees;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < model.trees.size(); ++i) {
    const std::string text = TreeText(model.trees[i], i);
    sizes.push_back(text.size());
    trees += text;
  }
  std::string out = fmt::format(
      "tree\nversion=v4\nnum_class={}\nnum_tree_per_iteration={}\nlabel_index=0\n"
      "max_feature_idx={}\n",
      model.classes, model.trees_per_iteration, static_cast<int64_t>(model.features()) - 1);
  if (!model.objective.empty()) out += fmt::format("objective={}\n", model.objective);
  if (model.average_output) out += "average_output\n";
  out += fmt::format("feature_names={}\nfeature_infos={}\ntree_sizes={}\n\n",
                     fmt::join(model.feature_names, " "), fmt::join(model.feature_infos, " "),
                     fmt::join(sizes, " "));
  out += trees;
  out += "end of trees\n";
  out += ImportancesText(model);
  out += "\nparameters:\n";
  for (const auto& [key, value] : model.parameters) out += fmt::format("[{}: {}]\n", key, value);
  out += "\nend of parameters\n";
  return out;
}

}  // namespace strata
