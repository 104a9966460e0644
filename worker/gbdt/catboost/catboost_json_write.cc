#include <nlohmann/json.hpp>

#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/ctr_json.h"

namespace strata {
namespace {

using Json = nlohmann::json;

const char* NanTreatmentName(NanTreatment nan) {
  switch (nan) {
    case NanTreatment::kAsIs:
      return "AsIs";
    case NanTreatment::kAsFalse:
      return "AsFalse";
    case NanTreatment::kAsTrue:
      return "AsTrue";
  }
  return "";
}

Json FeaturesJson(const CatBoostModel& model) {
  Json numbers;
  for (const CatBoostNumber& f : model.numbers) {
    numbers.push_back({{"feature_id", f.id},
                       {"feature_index", f.index},
                       {"flat_feature_index", f.flat_index},
                       {"borders", f.borders},
                       {"has_nans", f.has_nans},
                       {"nan_value_treatment", NanTreatmentName(f.nan)}});
  }
  Json categories;
  for (const CatBoostCategory& c : model.categories) {
    Json feature = {
        {"feature_id", c.id}, {"feature_index", c.index}, {"flat_feature_index", c.flat_index}};
    if (!c.values.empty()) feature["values"] = c.values;
    if (!c.string_values.empty()) feature["string_values"] = c.string_values;
    categories.push_back(std::move(feature));
  }
  Json texts;
  for (const auto& [hash, text] : model.texts) texts.push_back({{"hash", hash}, {"value", text}});
  Json features = {{"cat_features_hash", std::move(texts)}};
  if (!model.numbers.empty()) features["float_features"] = std::move(numbers);
  if (!model.categories.empty()) features["categorical_features"] = std::move(categories);
  return features;
}

class TreeJson {
 public:
  explicit TreeJson(const CatBoostModel& model) : model_(model) {}

  Json Oblivious(const CatBoostTree& tree) const {
    Json splits;
    for (const uint32_t split : tree.splits) splits.push_back(Split(split));
    Json json = {{"splits", std::move(splits)}, {"leaf_values", tree.values}};
    if (!tree.weights.empty()) json["leaf_weights"] = tree.weights;
    return json;
  }

  // Of a node, or ~leaf.
  Json Node(const CatBoostTree& tree, int32_t at) const {
    const int32_t leaf = ~at;
    if (leaf >= 0) return Leaf(tree, static_cast<size_t>(leaf));
    const CatBoostNode& node = tree.nodes[static_cast<size_t>(at)];
    return {{"split", Split(node.split)},
            {"left", Node(tree, node.left)},
            {"right", Node(tree, node.right)}};
  }

 private:
  Json Leaf(const CatBoostTree& tree, size_t leaf) const {
    const double* const values = tree.values.data() + leaf * model_.outputs;
    Json json;
    json["value"] = model_.outputs == 1
                        ? Json(values[0])
                        : Json(std::vector<double>(values, values + model_.outputs));
    if (!tree.weights.empty()) json["weight"] = tree.weights[leaf];
    return json;
  }

  Json Split(uint32_t index) const {
    const CatBoostSplit& split = model_.splits[index];
    Json json = {{"split_index", index}};
    if (split.kind == SplitKind::kNumber) {
      json["split_type"] = "FloatFeature";
      json["float_feature_index"] = model_.numbers[split.of].index;
      json["border"] = model_.numbers[split.of].borders[split.place];
    } else if (split.kind == SplitKind::kExactValue) {
      json["split_type"] = "OneHotFeature";
      json["cat_feature_index"] = model_.categories[split.of].index;
      json["value"] = model_.categories[split.of].values[split.place];
    } else {
      json["split_type"] = "OnlineCtr";
      json["ctr_target_border_idx"] = model_.ctrs[split.of].target_border;
      json["border"] = model_.ctrs[split.of].borders[split.place];
    }
    return json;
  }

  const CatBoostModel& model_;
};

}  // namespace

Result<std::string> WriteCatBoostJson(const CatBoostModel& model) {
  Json document = {{"model_info", Json::parse(model.info)},
                   {"features_info", FeaturesJson(model)},
                   {"scale_and_bias", Json::array({model.scale, model.bias})}};
  STRATA_TRY(WriteCtrs(model, &document));
  Json trees = Json::array();
  const TreeJson writer(model);
  for (const CatBoostTree& tree : model.trees) {
    trees.push_back(model.oblivious ? writer.Oblivious(tree)
                                    : writer.Node(tree, tree.nodes.empty() ? ~0 : 0));
  }
  document[model.oblivious ? "oblivious_trees" : "trees"] = std::move(trees);
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace strata
