#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "worker/gbdt/data/feature_names.h"
#include "worker/gbdt/model/lightgbm_text.h"

namespace strata {
namespace {

// But for thresholds, readers take no infinity and no NaN.
double Finite(double value) {
  if (std::isnan(value)) return 0;
  return std::clamp(value, -1e300, 1e300);
}

// "key=a b c" of what `of` says of each item.
template <typename Items, typename Of>
void WriteList(std::string* out, const char* key, const Items& items, const Of& of) {
  *out += key;
  *out += '=';
  bool first = true;
  for (const auto& item : items) {
    if (!first) *out += ' ';
    first = false;
    fmt::format_to(std::back_inserter(*out), "{}", of(item));
  }
  *out += '\n';
}

int DecisionOf(const TreeNode& node) {
  return (node.categorical ? 1 : 0) | (node.default_left ? 2 : 0) |
         (static_cast<int>(node.missing) << 2);
}

std::string TreeText(const Tree& tree, size_t number) {
  std::string out = fmt::format("Tree={}\nnum_leaves={}\nnum_cat={}\n", number, tree.leaves.size(),
                                tree.set_begins.size() - 1);
  const auto nodes = [&](const char* key, const auto& of) { WriteList(&out, key, tree.nodes, of); };
  const auto leaves = [&](const char* key, const auto& of) {
    WriteList(&out, key, tree.leaves, of);
  };
  nodes("split_feature", [](const TreeNode& n) { return n.feature; });
  nodes("split_gain", [](const TreeNode& n) { return Finite(n.gain); });
  nodes("threshold", [](const TreeNode& n) { return n.threshold; });
  nodes("decision_type", DecisionOf);
  nodes("left_child", [](const TreeNode& n) { return n.left; });
  nodes("right_child", [](const TreeNode& n) { return n.right; });
  leaves("leaf_value", [](const TreeLeaf& l) { return Finite(l.value); });
  leaves("leaf_weight", [](const TreeLeaf& l) { return Finite(l.weight); });
  leaves("leaf_count", [](const TreeLeaf& l) { return l.rows; });
  nodes("internal_value", [](const TreeNode& n) { return Finite(n.value); });
  nodes("internal_weight", [](const TreeNode& n) { return Finite(n.weight); });
  nodes("internal_count", [](const TreeNode& n) { return n.rows; });
  if (tree.set_begins.size() > 1) {
    out += fmt::format("cat_boundaries={}\ncat_threshold={}\n", fmt::join(tree.set_begins, " "),
                       fmt::join(tree.set_words, " "));
  }
  out += fmt::format("is_linear=0\nshrinkage={}\n\n\n", tree.shrinkage);
  return out;
}

// Whole numbers, the largest first.
std::string ImportancesText(const TreeModel& model, const std::vector<std::string>& names,
                            ImportanceKind kind) {
  std::vector<std::pair<uint64_t, size_t>> all;
  const std::vector<double> importances = FeatureImportances(model, kind);
  for (size_t f = 0; f < importances.size(); ++f) {
    const auto whole = static_cast<uint64_t>(std::min(importances[f], 1e18));
    if (whole > 0) all.emplace_back(whole, f);
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = "\nfeature_importances:\n";
  for (const auto& [importance, feature] : all) {
    out += fmt::format("{}={}\n", names[feature], importance);
  }
  return out;
}

}  // namespace

Status CheckLightGbmCanSay(const TreeModel& model) {
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      if (!node.categorical || !node.default_left) continue;
      return Invalid(
          "a categorical split sends missing values to the listed categories, which LightGBM's "
          "format cannot say");
    }
  }
  return {};
}

Result<std::string> WriteLightGbmText(const TreeModel& model, ImportanceKind importance) {
  STRATA_TRY(CheckLightGbmCanSay(model));
  STRATA_ASSIGN(const std::vector<std::string> names, ModelFeatureNames(model.feature_names));
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
      model.classes, model.classes, static_cast<int64_t>(model.features()) - 1);
  if (!model.objective.empty()) out += fmt::format("objective={}\n", model.objective);
  if (model.average_output) out += "average_output\n";
  out += fmt::format("feature_names={}\n", fmt::join(names, " "));
  if (!model.monotone_constraints.empty()) {
    out += fmt::format("monotone_constraints={}\n", fmt::join(model.monotone_constraints, " "));
  }
  out += fmt::format("feature_infos={}\ntree_sizes={}\n\n", fmt::join(model.feature_infos, " "),
                     fmt::join(sizes, " "));
  out += trees;
  out += "end of trees\n";
  out += ImportancesText(model, names, importance);
  out += "\nparameters:\n";
  for (const auto& [key, value] : model.parameters) out += fmt::format("[{}: {}]\n", key, value);
  out += "\nend of parameters\n";
  if (!model.pandas_categorical.empty()) {
    out += fmt::format("\npandas_categorical:{}\n", model.pandas_categorical);
  }
  return out;
}

}  // namespace strata
