#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/file/text_file.h"
#include "base/json_text.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/ctr_json.h"
#include "worker/gbdt/catboost/json_features.h"
#include "worker/gbdt/catboost/other_model.h"
#include "worker/gbdt/model/json_at.h"

namespace strata {
namespace {

constexpr size_t kDepthMax = 16;                // of an oblivious tree: CatBoost's own
constexpr int64_t kFeatureIndexMax = 1 << 24;   // as large as rows may be
constexpr size_t kLeavesMax = size_t{1} << 30;  // of one tree
constexpr int64_t kClassesOfModelMax = 1 << 20;

constexpr std::pair<std::string_view, NanTreatment> kNanTreatments[] = {
    {"AsIs", NanTreatment::kAsIs},
    {"AsFalse", NanTreatment::kAsFalse},
    {"AsTrue", NanTreatment::kAsTrue}};

// As CatBoost shows a label.
std::string LabelText(const nlohmann::json& label) {
  if (label.is_string()) return label.get<std::string>();
  if (label.is_boolean()) return label.get<bool>() ? "True" : "False";
  if (label.is_number_integer()) return label.dump();
  return fmt::format("{}", label.get<double>());
}

class CatBoostReader {
 public:
  explicit CatBoostReader(const std::string& name) : name_(name) {}

  Result<CatBoostModel> Read(const nlohmann::json& json) {
    const JsonAt document(json, name_ + ": ");
    STRATA_ASSIGN(const JsonAt features, document.At("features_info"));
    STRATA_TRY(ReadFeatures(features));
    places_.emplace(model_);
    model_.ListFeatureSplits();
    STRATA_TRY(ReadCtrs(document, &model_));
    STRATA_TRY(ReadTrees(document));
    STRATA_TRY(ReadScaleAndBias(document));
    STRATA_TRY(ReadInfo(document));
    return std::move(model_);
  }

 private:
  Status ReadFeatures(const JsonAt& at) {
    for (const char* key : {"text_features", "embedding_features", "estimated_features"}) {
      if (!at.Holds(key) || at.value()[key].empty()) continue;
      return Invalid(fmt::format("{}.{}: features of this kind are not supported: train without",
                                 at.where(), key));
    }
    STRATA_ASSIGN(const std::vector<JsonAt> numbers, ListAt(at, "float_features"));
    for (const JsonAt& item : numbers) STRATA_TRY(ReadNumber(item));
    STRATA_ASSIGN(const std::vector<JsonAt> categories, ListAt(at, "categorical_features"));
    for (const JsonAt& item : categories) STRATA_TRY(ReadCategory(item));
    STRATA_ASSIGN(const std::vector<JsonAt> texts, ListAt(at, "cat_features_hash"));
    for (const JsonAt& item : texts) {
      STRATA_ASSIGN(const JsonAt hash, item.At("hash"));
      STRATA_ASSIGN(const int64_t key, hash.Whole(0, UINT32_MAX));
      STRATA_ASSIGN(const JsonAt value, item.At("value"));
      STRATA_ASSIGN(model_.texts[static_cast<uint32_t>(key)], value.Text());
    }
    return {};
  }

  // Empty where the member is null or absent.
  static Result<std::vector<JsonAt>> ListAt(const JsonAt& at, const char* key) {
    if (!at.Holds(key)) return std::vector<JsonAt>();
    STRATA_ASSIGN(const JsonAt list, at.At(key));
    return list.Items();
  }

  // Reads what numbers and categories have in common.
  template <typename Feature>
  Status ReadPlace(const JsonAt& at, std::set<uint32_t>* known, Feature* feature) {
    STRATA_ASSIGN(const JsonAt index_at, at.At("feature_index"));
    STRATA_ASSIGN(const int64_t index, index_at.Whole(0, kFeatureIndexMax));
    STRATA_ASSIGN(const JsonAt flat_at, at.At("flat_feature_index"));
    STRATA_ASSIGN(const int64_t flat, flat_at.Whole(0, kFeatureIndexMax));
    feature->index = static_cast<uint32_t>(index);
    feature->flat_index = static_cast<uint32_t>(flat);
    if (!known->insert(feature->index).second) {
      return index_at.Wrong(fmt::format("a feature before this one has the index {}", index));
    }
    if (!flat_indexes_.insert(feature->flat_index).second) {
      return flat_at.Wrong(fmt::format("a feature before this one has the index {}", flat));
    }
    if (!at.Holds("feature_id")) return {};
    STRATA_ASSIGN(const JsonAt id_at, at.At("feature_id"));
    STRATA_ASSIGN(feature->id, id_at.Text());
    return {};
  }

  Status ReadNumber(const JsonAt& at) {
    CatBoostNumber number;
    STRATA_TRY(ReadPlace(at, &number_indexes_, &number));
    STRATA_ASSIGN(number.borders, BordersAt(at));
    STRATA_ASSIGN(const JsonAt nans_at, at.At("has_nans"));
    STRATA_ASSIGN(number.has_nans, nans_at.Bool());
    STRATA_ASSIGN(const JsonAt nan_at, at.At("nan_value_treatment"));
    STRATA_ASSIGN(const std::string nan, nan_at.Text());
    const auto* const known =
        std::ranges::find(kNanTreatments, nan, [](const auto& item) { return item.first; });
    if (known == std::end(kNanTreatments)) return nan_at.Expected("AsIs, AsFalse or AsTrue");
    number.nan = known->second;
    model_.numbers.push_back(std::move(number));
    return {};
  }

  Status ReadCategory(const JsonAt& at) {
    CatBoostCategory category;
    STRATA_TRY(ReadPlace(at, &category_indexes_, &category));
    STRATA_ASSIGN(const std::vector<JsonAt> values, ListAt(at, "values"));
    std::set<int64_t> seen;
    for (const JsonAt& item : values) {
      STRATA_ASSIGN(const int64_t value, item.Whole(INT32_MIN, INT32_MAX));
      if (!seen.insert(value).second)
        return item.Wrong(fmt::format("{} stands there twice", value));
      category.values.push_back(static_cast<int32_t>(value));
    }
    STRATA_ASSIGN(const std::vector<JsonAt> texts, ListAt(at, "string_values"));
    for (const JsonAt& item : texts) {
      STRATA_ASSIGN(category.string_values.emplace_back(), item.Text());
    }
    model_.categories.push_back(std::move(category));
    return {};
  }

  Status ReadTrees(const JsonAt& document) {
    model_.oblivious = document.Has("oblivious_trees");
    if (!model_.oblivious && !document.Has("trees")) {
      return document.Wrong("expected 'oblivious_trees' or 'trees', found neither");
    }
    const char* const key = model_.oblivious ? "oblivious_trees" : "trees";
    STRATA_ASSIGN(const std::vector<JsonAt> trees, ListAt(document, key));
    for (const JsonAt& at : trees) {
      CatBoostTree tree;
      STRATA_TRY(model_.oblivious ? ReadOblivious(at, &tree) : ReadNode(at, at, &tree).status());
      const size_t leaves = tree.values.size() / std::max<size_t>(1, outputs_);
      if (!tree.weights.empty() && tree.weights.size() != leaves) {
        return at.Wrong(
            fmt::format("expected weights of {} leaves, found {}", leaves, tree.weights.size()));
      }
      model_.trees.push_back(std::move(tree));
    }
    model_.outputs = std::max<size_t>(1, outputs_);
    return {};
  }

  // All leaves have as many values as the first one.
  Status CheckOutputs(const JsonAt& at, size_t found, size_t leaves) {
    if (outputs_ == 0) outputs_ = found / leaves;
    if (outputs_ > 0 && found == outputs_ * leaves) return {};
    return at.Wrong(fmt::format(
        "expected {} values, {} of them for each of the {} leaves, found {}",
        std::max<size_t>(1, outputs_) * leaves, std::max<size_t>(1, outputs_), leaves, found));
  }

  Status ReadOblivious(const JsonAt& at, CatBoostTree* tree) {
    STRATA_ASSIGN(const std::vector<JsonAt> splits, ListAt(at, "splits"));
    if (splits.size() > kDepthMax) {
      return at.Wrong(fmt::format("expected up to {} splits, found {}", kDepthMax, splits.size()));
    }
    for (const JsonAt& item : splits) {
      STRATA_ASSIGN(const uint32_t split, SplitAt(item));
      tree->splits.push_back(split);
    }
    STRATA_ASSIGN(const JsonAt values_at, at.At("leaf_values"));
    STRATA_ASSIGN(tree->values, values_at.NumberList());
    STRATA_TRY(CheckOutputs(values_at, tree->values.size(), size_t{1} << splits.size()));
    if (!at.Holds("leaf_weights")) return {};
    STRATA_ASSIGN(const JsonAt weights_at, at.At("leaf_weights"));
    STRATA_ASSIGN(tree->weights, weights_at.NumberList());
    return {};
  }

  // The node, or ~leaf, that it becomes. As deep as JSON may nest. `root` is its tree.
  Result<int32_t> ReadNode(const JsonAt& root, const JsonAt& at, CatBoostTree* tree) {
    if (tree->nodes.size() + tree->values.size() >= kLeavesMax) {
      return root.Wrong("the tree is too large");
    }
    if (at.Has("value")) return ReadLeaf(at, tree);
    const size_t node = tree->nodes.size();
    tree->nodes.emplace_back();
    STRATA_ASSIGN(const JsonAt split_at, at.At("split"));
    STRATA_ASSIGN(tree->nodes[node].split, SplitAt(split_at));
    STRATA_ASSIGN(const JsonAt left_at, at.At("left"));
    STRATA_ASSIGN(const int32_t left, ReadNode(root, left_at, tree));
    STRATA_ASSIGN(const JsonAt right_at, at.At("right"));
    STRATA_ASSIGN(const int32_t right, ReadNode(root, right_at, tree));
    tree->nodes[node].left = left;
    tree->nodes[node].right = right;
    return static_cast<int32_t>(node);
  }

  Result<int32_t> ReadLeaf(const JsonAt& at, CatBoostTree* tree) {
    STRATA_ASSIGN(const JsonAt value_at, at.At("value"));
    std::vector<double> values;
    if (value_at.value().is_array()) {
      STRATA_ASSIGN(values, value_at.NumberList());
    } else {
      STRATA_ASSIGN(values.emplace_back(), value_at.Number());
    }
    STRATA_TRY(CheckOutputs(value_at, values.size(), 1));
    const size_t leaf = tree->values.size() / outputs_;
    tree->values.insert(tree->values.end(), values.begin(), values.end());
    if (at.Has("weight")) {
      STRATA_ASSIGN(const JsonAt weight_at, at.At("weight"));
      STRATA_ASSIGN(tree->weights.emplace_back(), weight_at.Number());
    }
    return ~static_cast<int32_t>(leaf);
  }

  // CatBoost goes by split_index alone; what else is there must say the same.
  Result<uint32_t> SplitAt(const JsonAt& at) {
    STRATA_ASSIGN(const JsonAt index_at, at.At("split_index"));
    STRATA_ASSIGN(const int64_t index, index_at.Whole(0, UINT32_MAX));
    if (index >= static_cast<int64_t>(model_.splits.size())) {
      return index_at.Wrong(
          fmt::format("expected the number of one of the {} splits that "
                      "features_info lists, found {}",
                      model_.splits.size(), index));
    }
    const CatBoostSplit& split = model_.splits[static_cast<size_t>(index)];
    if (at.Has("float_feature_index")) {
      STRATA_ASSIGN(const size_t place, places_->NumberAt(at, "float_feature_index"));
      if (split.kind != SplitKind::kNumber || split.of != place) return NotOf(at, index);
    }
    if (at.Has("cat_feature_index")) {
      STRATA_ASSIGN(const size_t place, places_->CategoryAt(at, "cat_feature_index"));
      if (split.kind != SplitKind::kExactValue || split.of != place) return NotOf(at, index);
    }
    return static_cast<uint32_t>(index);
  }

  static Status NotOf(const JsonAt& at, int64_t index) {
    return at.Wrong(fmt::format(
        "split {} of features_info is of another feature than the one that is named here", index));
  }

  // [scale, [bias of each output]], in old files [scale, bias].
  Status ReadScaleAndBias(const JsonAt& document) {
    model_.bias.assign(model_.outputs, 0);
    if (!document.Holds("scale_and_bias")) return {};
    STRATA_ASSIGN(const JsonAt at, document.At("scale_and_bias"));
    STRATA_ASSIGN(const std::vector<JsonAt> pair, at.Items());
    if (pair.size() != 2) return at.Expected("an array of the scale and the biases");
    STRATA_ASSIGN(model_.scale, pair[0].Number());
    if (pair[1].value().is_null()) return {};
    std::vector<double> bias;
    if (pair[1].value().is_array()) {
      STRATA_ASSIGN(bias, pair[1].NumberList());
    } else {
      STRATA_ASSIGN(bias.emplace_back(), pair[1].Number());
    }
    if (bias.empty()) return {};
    if (model_.trees.empty()) model_.outputs = bias.size();
    if (bias.size() != model_.outputs) {
      return pair[1].Expected(fmt::format("{} biases, one an output", model_.outputs));
    }
    model_.bias = std::move(bias);
    return {};
  }

  Status ReadInfo(const JsonAt& document) {
    if (document.Holds("model_info")) {
      STRATA_ASSIGN(const JsonAt info, document.At("model_info"));
      if (!info.value().is_object()) return info.Expected("an object");
      model_.info = info.value().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      STRATA_TRY(ReadLoss(info));
      STRATA_TRY(ReadThreshold(info));
      if (info.Holds("class_params")) {
        STRATA_ASSIGN(const JsonAt classes, info.At("class_params"));
        STRATA_TRY(ReadClasses(classes));
      }
    }
    if (!model_.class_labels.empty() || model_.outputs == 1) return {};
    for (size_t k = 0; k < model_.outputs; ++k) {
      model_.class_labels.push_back(fmt::format("{}", k));
      model_.class_of_output.push_back(static_cast<uint32_t>(k));
    }
    return {};
  }

  Status ReadLoss(const JsonAt& info) {
    if (!info.Holds("params")) return {};
    STRATA_ASSIGN(const JsonAt params, info.At("params"));
    if (!params.Holds("loss_function")) return {};
    STRATA_ASSIGN(const JsonAt loss, params.At("loss_function"));
    STRATA_ASSIGN(const JsonAt type, loss.At("type"));
    STRATA_ASSIGN(model_.loss, type.Text());
    return {};
  }

  Status ReadThreshold(const JsonAt& info) {
    if (!info.Holds("binclass_probability_threshold")) return {};
    STRATA_ASSIGN(const JsonAt at, info.At("binclass_probability_threshold"));
    STRATA_ASSIGN(model_.class_threshold, at.Number());
    if (*model_.class_threshold > 0 && *model_.class_threshold < 1) return {};
    return at.Expected("a probability above 0 and below 1");
  }

  Status ReadClasses(const JsonAt& at) {
    STRATA_ASSIGN(const std::vector<JsonAt> names, ListAt(at, "class_names"));
    STRATA_ASSIGN(const std::vector<JsonAt> of_output, ListAt(at, "class_to_label"));
    int64_t count = 0;
    if (at.Has("classes_count")) {
      STRATA_ASSIGN(const JsonAt count_at, at.At("classes_count"));
      STRATA_ASSIGN(count, count_at.Whole(0, kClassesOfModelMax));
    }
    std::vector<JsonAt> labels = names;
    if (names.empty() && count == 0) labels = of_output;
    for (const JsonAt& label : labels) {
      if (label.value().is_structured() || label.value().is_null()) {
        return label.Expected("a label: a text, a number, true or false");
      }
      model_.class_labels.push_back(LabelText(label.value()));
    }
    for (size_t k = labels.size(); k < static_cast<size_t>(count); ++k) {
      model_.class_labels.push_back(fmt::format("{}", k));
    }
    if (model_.outputs == 1) {
      const size_t found = model_.class_labels.size();
      return found == 0 || found == 2
                 ? Status()
                 : at.Wrong(fmt::format("expected the labels of 2 classes, found {}", found));
    }
    return ReadClassOfOutput(at, of_output, names.empty() && count == 0);
  }

  // `are_labels`: the classes are the outputs, and the list holds their labels.
  Status ReadClassOfOutput(const JsonAt& at, const std::vector<JsonAt>& list, bool are_labels) {
    if (list.size() != model_.outputs) {
      return at.Wrong(fmt::format("class_to_label: expected the classes of {} outputs, found {}",
                                  model_.outputs, list.size()));
    }
    std::set<int64_t> seen;
    for (size_t k = 0; k < list.size(); ++k) {
      auto of = static_cast<int64_t>(k);
      if (!are_labels) {
        STRATA_ASSIGN(of, list[k].Whole(0, static_cast<int64_t>(model_.class_labels.size()) - 1));
      }
      if (!seen.insert(of).second) return list[k].Wrong("an output before it has the same class");
      model_.class_of_output.push_back(static_cast<uint32_t>(of));
    }
    return {};
  }

  const std::string& name_;
  CatBoostModel model_;
  std::set<uint32_t> number_indexes_;
  std::set<uint32_t> category_indexes_;
  std::set<uint32_t> flat_indexes_;
  std::optional<FeaturePlaces> places_;  // once features have been read
  size_t outputs_ = 0;                   // 0: no leaf has been read
};

}  // namespace

Result<CatBoostModel> ReadCatBoostJson(std::string_view text, const std::string& name) {
  if (const std::string_view other = OtherModel(text); !other.empty()) {
    return Invalid(fmt::format("{}: {}", name, other));
  }
  if (NestsTooDeep(text)) {
    return Corrupt(
        fmt::format("{}: expected JSON of at most {} levels, found more: CatBoost's "
                    "trees have at most {}",
                    name, kJsonDepthMax, kDepthMax));
  }
  STRATA_ASSIGN(const nlohmann::json document, ParseJson(text, name, kJsonDepthMax));
  return CatBoostReader(name).Read(document);
}

Result<CatBoostModel> ReadCatBoostFile(Disk& disk, const std::string& path) {
  constexpr uint64_t kBytesMax = uint64_t{16} << 30;
  STRATA_ASSIGN(const std::string text, ReadTextFile(disk, path, kBytesMax));
  return ReadCatBoostJson(text, path);
}

}  // namespace strata
