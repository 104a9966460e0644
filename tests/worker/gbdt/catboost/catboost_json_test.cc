// CatBoost's JSON as it is read and written: what is wrong in it, and where.
#include "worker/gbdt/catboost/catboost_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/golden.h"
#include "tests/worker/gbdt/catboost/golden_catboost.h"
#include "worker/gbdt/catboost/catboost_predictor.h"

namespace strata {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json GoldenJson(const std::string& name) {
  return json::parse(Golden("catboost/" + name + ".json"));
}

TEST(CatBoostJson, WhatIsWrittenIsReadAsTheSameModel) {
  for (const std::string name : kGoldenCatBoost) {
    if (name == "means") continue;
    const CatBoostModel model = GoldenCatBoost(name);
    const Result<std::string> text = WriteCatBoostJson(model);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    const Result<CatBoostModel> again = ReadCatBoostJson(*text, name);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ(*WriteCatBoostJson(*again), *text) << name;
    const CatBoostRows rows = RowsFor(model, GoldenCatBoostCells());
    EXPECT_EQ(RawOf(*again, rows), RawOf(model, rows)) << name;
  }
}

// Everything but names that repeat those of the ids.
TEST(CatBoostJson, NothingThatCatBoostReadsIsLost) {
  for (const std::string name : kGoldenCatBoost) {
    if (name == "means") continue;
    json expected = GoldenJson(name);
    for (const char* kind : {"float_features", "categorical_features"}) {
      if (!expected["features_info"].contains(kind)) continue;
      for (json& feature : expected["features_info"][kind]) feature.erase("feature_name");
    }
    json found = json::parse(*WriteCatBoostJson(GoldenCatBoost(name)));
    const auto sorted = [](json* list) {
      if (list->is_array()) std::sort(list->begin(), list->end());
    };
    sorted(&expected["features_info"]["cat_features_hash"]);
    sorted(&found["features_info"]["cat_features_hash"]);
    if (expected["ctr_data"].is_null()) expected.erase("ctr_data");
    EXPECT_EQ(json::diff(expected, found).dump(), "[]") << name;
  }
}

TEST(CatBoostJson, MeansOfSeveralBordersAreRefusedForWriting) {
  const Status status = WriteCatBoostJson(GoldenCatBoost("means")).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("BinarizedTargetMeanValue"), HasSubstr("as whole numbers")));
}

TEST(CatBoostJson, OldFilesHaveOneBiasAndNoWeights) {
  json old = GoldenJson("numbers");
  old["scale_and_bias"] = {2, 0.5};
  for (json& tree : old["oblivious_trees"]) tree.erase("leaf_weights");
  const Result<CatBoostModel> model = ReadCatBoostJson(old.dump(), "old");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const CatBoostModel now = GoldenCatBoost("numbers");
  const CatBoostRows rows = RowsFor(now, GoldenCatBoostCells());
  const std::vector<double> raw = RawOf(now, rows);
  const std::vector<double> found = RawOf(*model, rows);
  for (size_t i = 0; i < raw.size(); ++i) EXPECT_EQ(found[i], 2 * raw[i] + 0.5);
}

// Cut anywhere, a file is no JSON, which the error says with the place.
TEST(CatBoostJson, AFileThatIsCutIsSaidToBe) {
  const std::string text = Golden("catboost/numbers.json");
  const size_t whole = text.rfind('}');
  for (size_t length = 0; length <= whole; ++length) {
    const Status status = ReadCatBoostJson(text.substr(0, length), "m.json").status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << length;
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("m.json: line 1, column "), HasSubstr("expected JSON, found")))
        << length;
  }
}

// Each value of a model replaced by others: it is refused with its place, or it still is a model,
// which predicts and is written.
TEST(CatBoostJson, ValuesOfOtherTypesAreFoundOrHarmless) {
  const json others[] = {
      nullptr,         true, -1, 7, 1.5, 1e300, 1e18, "x", "", json::array(), json::object(),
      json::array({1})};
  size_t refused = 0;
  for (const std::string name : {"combinations", "lossguide", "nan_max"}) {
    const json whole = GoldenJson(name);
    const json flat = whole.flatten();
    const CatBoostRows rows = RowsFor(GoldenCatBoost(name), GoldenCatBoostCells());
    size_t place = 0;
    for (const auto& [pointer, value] : flat.items()) {
      // Of the many numbers of tables and leaves some; also the objects and arrays above.
      if (++place % (name == "combinations" ? 7 : 2) != 0) continue;
      for (json::json_pointer at(pointer); !at.empty(); at.pop_back()) {
        const json& other = others[(place + at.to_string().size()) % std::size(others)];
        json changed = whole;
        changed[at] = other;
        const Result<CatBoostModel> model = ReadCatBoostJson(changed.dump(), "m.json");
        if (!model.ok()) {
          ++refused;
          EXPECT_THAT(model.status().message(), testing::StartsWith("m.json: "));
          EXPECT_NE(model.status().code(), StatusCode::kInternal);
          continue;
        }
        EXPECT_EQ(RawOf(*model, CatBoostRows(*model, 3)).size(), 3 * model->outputs);
        (void)WriteCatBoostJson(*model);
      }
    }
  }
  EXPECT_GT(refused, 1000U);
}

struct BadCase {
  const char* model;
  const char* pointer;
  json value;  // discarded: the member is removed
  std::vector<std::string> message;
};

TEST(CatBoostJson, WhatDoesNotFitIsNamedWithItsPlace) {
  const std::string table = json::parse(Golden("catboost/types.json"))["ctr_data"].begin().key();
  const std::string in_table = "/ctr_data/" + [&] {
    std::string escaped;  // as RFC 6901 has it
    for (const char c : table) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return escaped;
  }();
  const json removed = json::value_t::discarded;
  const BadCase cases[] = {
      {"numbers", "/features_info", removed, {"m.json: 'features_info' is missing"}},
      {"numbers", "/oblivious_trees", removed, {"expected 'oblivious_trees' or 'trees'"}},
      {"numbers",
       "/oblivious_trees/1/splits/0/split_index",
       12,
       {"oblivious_trees[1].splits[0].split_index: ", "one of the 12 splits", "found 12"}},
      {"numbers",
       "/oblivious_trees/1/splits/0/float_feature_index",
       9,
       {"splits[0].float_feature_index: the model has no float feature 9"}},
      {"numbers",
       "/oblivious_trees/0/splits/0/float_feature_index",
       2,
       {"oblivious_trees[0].splits[0]: split ", "of another feature"}},
      {"numbers",
       "/oblivious_trees/0/leaf_values",
       {1, 2, 3},
       {"oblivious_trees[0].leaf_values: expected 8 values, 1 of them for each of the 8 leaves, "
        "found 3"}},
      {"numbers",
       "/oblivious_trees/2/leaf_values",
       std::vector<double>(16, 0.5),
       {"oblivious_trees[2].leaf_values: expected 8 values", "found 16"}},
      {"numbers", "/oblivious_trees/0/leaf_values/3", "x", {"leaf_values: expected numbers"}},
      {"numbers",
       "/oblivious_trees/0/leaf_weights",
       {1},
       {"oblivious_trees[0]: expected weights of 8 leaves, found 1"}},
      {"numbers",
       "/features_info/float_features/0/borders/1",
       -9,
       {"float_features[0].borders: expected floats in ascending order, found -9 at place 1"}},
      {"numbers",
       "/features_info/float_features/0/borders/5",
       1e39,
       {"expected floats in ascending order, found 1e+39 at place 5"}},
      {"numbers",
       "/features_info/float_features/0/nan_value_treatment",
       "AsNull",
       {"nan_value_treatment: expected AsIs, AsFalse or AsTrue, found \"AsNull\""}},
      {"numbers",
       "/features_info/float_features/1/feature_index",
       0,
       {"float_features[1].feature_index: a feature before this one has the index 0"}},
      {"numbers",
       "/features_info/float_features/1/flat_feature_index",
       3e9,
       {"flat_feature_index: expected a whole number from 0 to 16777216, found 3000000000"}},
      {"numbers",
       "/features_info/text_features",
       {1},
       {"text_features: features of this kind are not supported"}},
      {"numbers", "/scale_and_bias", {1, {0, 0}}, {"scale_and_bias[1]: expected 1 biases"}},
      {"numbers",
       "/model_info/class_params/class_names",
       {"a", "b", "c"},
       {"class_params: expected the labels of 2 classes, found 3"}},
      {"nan_max",
       "/model_info/binclass_probability_threshold",
       "1.5",
       {"binclass_probability_threshold: expected a probability above 0 and below 1"}},
      {"absent_classes",
       "/model_info/class_params/class_to_label",
       {1, 4},
       {"class_to_label[1]: expected a whole number from 0 to 3, found 4"}},
      {"absent_classes",
       "/model_info/class_params/class_to_label",
       {1, 1},
       {"class_to_label[1]: an output before it has the same class"}},
      {"lossguide", "/trees/0/right", removed, {"trees[0]: 'right' is missing"}},
      {"lossguide",
       "/trees/1/left",
       {{"value", {1, 2}}},
       {"trees[1].left.value: expected 3 values", "found 2"}},
      {"combinations",
       "/features_info/ctrs/0/elements/0/cat_feature_index",
       8,
       {"ctrs[0].elements[0].cat_feature_index: the model has no categorical feature 8"}},
      {"combinations",
       "/features_info/ctrs/0/elements/0/combination_element",
       "text",
       {"combination_element: expected cat_feature_value, float_feature or"}},
      {"combinations",
       "/features_info/categorical_features/0/values",
       removed,
       {"is none of the 0 of categorical feature 0"}},
      {"types", "/ctr_data", removed, {"ctrs[0]: ctr_data has no table of type"}},
      {"types",
       "/features_info/ctrs/0/ctr_type",
       "Mean",
       {"ctr_type: expected Borders, Buckets, ", "found \"Mean\""}},
      {"types",
       "/features_info/ctrs/0/target_border_idx",
       17,
       {"ctrs[0].target_border_idx: expected a whole number from 0 to ", "found 17"}},
      {"types", "/features_info/ctrs/0/scale", "wide", {"ctrs[0].scale: expected a number"}},
      {"types", "/features_info/ctrs/0/prior_denomerator", removed, {"is missing"}}};
  for (const BadCase& bad : cases) {
    json document = GoldenJson(bad.model);
    json::json_pointer at(bad.pointer);
    if (bad.value.is_discarded()) {
      const std::string& last = at.back();
      document[at.parent_pointer()].erase(last);
    } else {
      document[at] = bad.value;
    }
    const Status status = ReadCatBoostJson(document.dump(), "m.json").status();
    ASSERT_FALSE(status.ok()) << bad.pointer;
    EXPECT_THAT(status.message(), testing::StartsWith("m.json: ")) << bad.pointer;
    for (const std::string& part : bad.message) {
      EXPECT_THAT(status.message(), HasSubstr(part)) << bad.pointer;
    }
  }
  json means = GoldenJson("means");
  (*means["ctr_data"].begin())["hash_map"][1] = 1e39;
  EXPECT_THAT(ReadCatBoostJson(means.dump(), "m.json").status().message(),
              HasSubstr("hash_map[1]: expected a number that a float can hold, found 1e+39"));
  const std::pair<std::function<void(json*)>, std::string> tables[] = {
      {[](json* t) { (*t)["hash_stride"] = 9; }, "hash_map: expected an array of keys with 8"},
      {[](json* t) { (*t)["hash_stride"] = 1; }, "hash_stride: expected a whole number from 2"},
      {[](json* t) { (*t)["hash_map"].erase(1); }, "hash_map: expected an array of keys with "},
      {[](json* t) { (*t)["hash_map"][0] = "18446744073709551616"; },
       "hash_map[0]: expected a key, a text of up to 20 digits"},
      {[](json* t) { (*t)["hash_map"][0] = 5; }, "hash_map[0]: expected a key"},
      {[](json* t) { (*t)["hash_map"][1] = -3; }, "hash_map[1]: expected a count"},
      {[](json* t) { (*t)["hash_map"][1] = 0.5; }, "hash_map[1]: expected a count"},
      {[](json* t) { (*t)["hash_map"][(*t)["hash_stride"].get<size_t>()] = (*t)["hash_map"][0]; },
       "stands there twice"}};
  for (const auto& [change, message] : tables) {
    json document = GoldenJson("types");
    change(&document[json::json_pointer(in_table)]);
    const Status status = ReadCatBoostJson(document.dump(), "m.json").status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("m.json: "), HasSubstr("ctr_data['"), HasSubstr(message)));
  }
}

TEST(CatBoostJson, DeepAndForeignFilesAreRefused) {
  const Status deep = ReadCatBoostJson(std::string(100000, '['), "m.json").status();
  EXPECT_THAT(deep.message(), HasSubstr("m.json: expected JSON of at most 64 levels"));
  const Status binary = ReadCatBoostJson("CBM1\x01\x02", "m.cbm").status();
  EXPECT_EQ(binary.code(), StatusCode::kInvalid);
  EXPECT_THAT(binary.message(), HasSubstr("save it as JSON"));
  for (const std::string name : {"binary.model.txt", "xgb_binary.json", "binary.dump.json"}) {
    const Status other = ReadCatBoostJson(Golden("gbdt/" + name), name).status();
    EXPECT_EQ(other.code(), StatusCode::kInvalid);
    EXPECT_THAT(other.message(), HasSubstr(name == "binary.model.txt"  ? "a model of LightGBM"
                                           : name == "xgb_binary.json" ? "a model of XGBoost"
                                                                       : "a dump of LightGBM's"));
  }
  EXPECT_THAT(ReadCatBoostJson("{L\x01", "m.ubj").status().message(), HasSubstr("of XGBoost"));
  EXPECT_FALSE(ReadCatBoostJson("{}", "m.json").ok());
  EXPECT_FALSE(ReadCatBoostJson("[]", "m.json").ok());
}

}  // namespace
}  // namespace strata
