#include "worker/gbdt/model/model_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "worker/gbdt/data/feature_names.h"
#include "worker/gbdt/model/importance.h"

namespace strata {
namespace {

constexpr size_t kDepthMax = 1024;

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// JSON has no infinity and no NaN.
std::string Number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string_view MissingName(MissingKind missing) {
  switch (missing) {
    case MissingKind::kNone:
      return "None";
    case MissingKind::kZero:
      return "Zero";
    case MissingKind::kNaN:
      return "NaN";
  }
  return "";
}

// "2||5||6": the categories of a set.
std::string SetText(const Tree& tree, size_t set) {
  std::string text;
  for (uint32_t word = tree.set_begins[set]; word < tree.set_begins[set + 1]; ++word) {
    for (uint32_t bit = 0; bit < 32; ++bit) {
      if ((tree.set_words[word] >> bit & 1) == 0) continue;
      text += fmt::format("{}{}", text.empty() ? "" : "||",
                          uint64_t{word - tree.set_begins[set]} * 32 + bit);
    }
  }
  return text;
}

void AppendNode(const Tree& tree, int32_t at, std::string* out) {
  if (at < 0) {
    const TreeLeaf& leaf = tree.leaves[static_cast<size_t>(~at)];
    *out += fmt::format(R"({{"leaf_index":{},"leaf_value":{},"leaf_weight":{},"leaf_count":{}}})",
                        ~at, Number(leaf.value), Number(leaf.weight), leaf.rows);
    return;
  }
  const TreeNode& node = tree.nodes[static_cast<size_t>(at)];
  const std::string threshold = node.categorical
                                    ? Quoted(SetText(tree, static_cast<size_t>(node.threshold)))
                                    : Number(std::clamp(node.threshold, -1e300, 1e300));
  *out += fmt::format(
      R"({{"split_index":{},"split_feature":{},"split_gain":{},"threshold":{},)"
      R"("decision_type":"{}","default_left":{},"missing_type":"{}","internal_value":{},)"
      R"("internal_weight":{},"internal_count":{},"left_child":)",
      at, node.feature, Number(node.gain), threshold,
      node.categorical ? "==" : "<=", node.default_left, MissingName(node.missing),
      Number(node.value), Number(node.weight), node.rows);
  AppendNode(tree, node.left, out);
  *out += R"(,"right_child":)";
  AppendNode(tree, node.right, out);
  *out += '}';
}

// Of "[min:max]", of categories "3:1:0", or of "none", which has no text here.
std::string InfoText(std::string_view info) {
  const bool range = info.starts_with('[') && info.ends_with(']');
  if (range) info = info.substr(1, info.size() - 2);
  std::vector<double> numbers;
  while (true) {
    const size_t colon = info.find(':');
    double number = 0;
    const auto [end, error] =
        std::from_chars(info.data(), info.data() + std::min(colon, info.size()), number);
    if (error != std::errc()) return "";
    numbers.push_back(number);
    if (colon == std::string_view::npos) break;
    info.remove_prefix(colon + 1);
  }
  const auto [least, most] = std::ranges::minmax(numbers);
  return fmt::format(R"({{"min_value":{},"max_value":{},"values":[{}]}})", Number(least),
                     Number(most), range ? "" : fmt::format("{}", fmt::join(numbers, ",")));
}

}  // namespace

Result<std::string> WriteModelJson(const TreeModel& model) {
  STRATA_ASSIGN(std::vector<std::string> names, ModelFeatureNames(model.feature_names));
  std::ranges::transform(names, names.begin(), Quoted);
  std::string infos;
  std::string importances;
  const std::vector<double> splits = FeatureImportances(model, ImportanceKind::kSplit);
  for (size_t f = 0; f < names.size(); ++f) {
    const std::string info = InfoText(model.feature_infos[f]);
    if (!info.empty()) infos += fmt::format("{}{}:{}", infos.empty() ? "" : ",", names[f], info);
    if (splits[f] == 0) continue;
    importances += fmt::format("{}{}:{}", importances.empty() ? "" : ",", names[f], splits[f]);
  }
  std::string out = fmt::format(
      R"({{"name":"tree","version":"v4","num_class":{},"num_tree_per_iteration":{},)"
      R"("label_index":0,"max_feature_idx":{},"objective":{},"average_output":{},)"
      R"("feature_names":[{}],"monotone_constraints":[{}],"feature_infos":{{{}}},"tree_info":[)",
      model.classes, model.classes, static_cast<int64_t>(model.features()) - 1,
      Quoted(model.objective), model.average_output, fmt::join(names, ","),
      fmt::join(model.monotone_constraints, ","), infos);
  for (size_t t = 0; t < model.trees.size(); ++t) {
    const Tree& tree = model.trees[t];
    if (const size_t depth = tree.Depth(); depth > kDepthMax) {
      return Invalid(fmt::format("tree {} has {} nodes on one way: at most {} are written as JSON",
                                 t, depth, kDepthMax));
    }
    out += fmt::format(
        R"({}{{"tree_index":{},"num_leaves":{},"num_cat":{},"shrinkage":{},"tree_structure":)",
        t > 0 ? "," : "", t, tree.leaves.size(), tree.set_begins.size() - 1,
        Number(tree.shrinkage));
    AppendNode(tree, tree.nodes.empty() ? ~0 : 0, &out);
    out += '}';
  }
  return out + fmt::format("],\"feature_importances\":{{{}}},\"pandas_categorical\":{}}}\n",
                           importances,
                           model.pandas_categorical.empty() ? "null" : model.pandas_categorical);
}

}  // namespace strata
