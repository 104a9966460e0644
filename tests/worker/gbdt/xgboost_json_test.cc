#include "worker/gbdt/model/xgboost_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "tests/support/golden.h"
#include "tests/worker/gbdt/golden_model.h"
#include "tests/worker/gbdt/random_model.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

std::string ModelText(const std::string& name) { return Golden("gbdt/" + name + ".json"); }

TreeModel Model(const std::string& text) {
  Result<TreeModel> model = ReadXgboostJson(text, "model");
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  return model.ok() ? *std::move(model) : TreeModel();
}

std::vector<double> Predicted(const TreeModel& model, const std::vector<std::vector<double>>& rows,
                              PredictionKind kind) {
  const Result<Predictor> predictor = Predictor::Make(model, {.kind = kind});
  EXPECT_TRUE(predictor.ok()) << predictor.status().ToString();
  if (!predictor.ok()) return {};
  const auto pool = WorkPool::Start("test", 0);
  std::vector<double> out;
  EXPECT_TRUE(predictor->Predict(ToSparse(rows), **pool, &out).ok());
  return out;
}

class XgboostGolden : public testing::TestWithParam<const char*> {};

// XGBoost sums in float.
TEST_P(XgboostGolden, PredictsWhatXgboostPredicts) {
  const TreeModel model = Model(ModelText(GetParam()));
  const auto rows = GoldenRows("tame_rows.csv");
  std::vector<double> raw;
  std::vector<double> predictions;
  std::vector<double> contributions;
  for (const ExpectedRow& row : GoldenExpected(GetParam())) {
    raw.insert(raw.end(), row.raw.begin(), row.raw.end());
    predictions.insert(predictions.end(), row.predictions.begin(), row.predictions.end());
    contributions.insert(contributions.end(), row.contributions.begin(), row.contributions.end());
  }
  ExpectClose(Predicted(model, rows, PredictionKind::kRaw), raw, 1e-6, GetParam());
  ExpectClose(Predicted(model, rows, PredictionKind::kTransformed), predictions, 1e-6, GetParam());
  ExpectClose(Predicted(model, rows, PredictionKind::kContributions), contributions, 1e-5,
              GetParam());
}

TEST_P(XgboostGolden, WrittenAndReadItPredictsTheSame) {
  const TreeModel model = Model(ModelText(GetParam()));
  const Result<std::string> text = WriteXgboostJson(model);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const TreeModel again = Model(*text);
  EXPECT_EQ(again.objective, model.objective);
  const auto rows = GoldenRows("tame_rows.csv");
  EXPECT_EQ(Predicted(again, rows, PredictionKind::kLeaves),
            Predicted(model, rows, PredictionKind::kLeaves));
  ExpectClose(Predicted(again, rows, PredictionKind::kRaw),
              Predicted(model, rows, PredictionKind::kRaw), 1e-6, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, XgboostGolden,
                         testing::Values("xgb_binary", "xgb_squared", "xgb_multiclass",
                                         "xgb_poisson", "xgb_rank", "xgb_dart"),
                         [](const auto& param) { return std::string(param.param); });

// Models whose rounds have parallel trees.
class XgboostParallel : public testing::TestWithParam<const char*> {
 protected:
  static std::vector<double> Expected(const std::string& name,
                                      std::vector<double> ExpectedRow::*kind) {
    std::vector<double> all;
    for (const ExpectedRow& row : GoldenExpected(name)) {
      all.insert(all.end(), (row.*kind).begin(), (row.*kind).end());
    }
    return all;
  }

  // By so many rounds from one on.
  static std::vector<double> OfRounds(const TreeModel& model, size_t start, size_t count) {
    const Result<Predictor> predictor = Predictor::Make(
        model, {.kind = PredictionKind::kRaw, .start_iteration = start, .iterations = count});
    STRATA_CHECK(predictor.ok());
    const auto pool = WorkPool::Start("test", 0);
    std::vector<double> out;
    STRATA_CHECK(predictor->Predict(ToSparse(Rows()), **pool, &out).ok());
    return out;
  }

  static std::vector<std::vector<double>> Rows() { return GoldenRows("tame_rows.csv"); }
  std::string name() const { return GetParam(); }
  TreeModel model_ = Model(ModelText(GetParam()));
};

TEST_P(XgboostParallel, PredictsWhatXgboostPredicts) {
  ExpectClose(Predicted(model_, Rows(), PredictionKind::kRaw), Expected(name(), &ExpectedRow::raw),
              1e-6, name());
  ExpectClose(Predicted(model_, Rows(), PredictionKind::kTransformed),
              Expected(name(), &ExpectedRow::predictions), 1e-6, name());
}

TEST_P(XgboostParallel, ARoundIsAllOfItsTrees) {
  EXPECT_EQ(model_.iterations(), 3U);
  ExpectClose(OfRounds(model_, 0, 1), Expected(name() + ".first", &ExpectedRow::raw), 1e-6, name());
}

TEST_P(XgboostParallel, RoundsAddUp) {
  std::vector<double> sums = OfRounds(model_, 0, 1);
  const std::vector<double> later = OfRounds(model_, 1, 2);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += later[i];
  ExpectClose(sums, OfRounds(model_, 0, 3), 1e-12, name());
}

TEST_P(XgboostParallel, ContributionsAddUpToTheScores) {
  const std::vector<double> parts = Predicted(model_, Rows(), PredictionKind::kContributions);
  const size_t width = model_.features() + 1;
  std::vector<double> sums(parts.size() / width, 0);
  for (size_t i = 0; i < parts.size(); ++i) sums[i / width] += parts[i];
  ExpectClose(sums, Predicted(model_, Rows(), PredictionKind::kRaw), 1e-9, name());
}

TEST_P(XgboostParallel, WrittenAsXgboostItHasTheSameRounds) {
  const Result<std::string> text = WriteXgboostJson(model_);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const TreeModel again = Model(*text);
  EXPECT_EQ(again.trees_per_iteration, model_.trees_per_iteration);
  ExpectClose(OfRounds(again, 0, 2), OfRounds(model_, 0, 2), 1e-6, name());
}

// LightGBM has one tree a class in each round.
TEST_P(XgboostParallel, WrittenAsLightGbmEachParallelTreeIsARound) {
  const Result<std::string> text = WriteLightGbmText(model_);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const Result<TreeModel> again = ReadLightGbmText(*text, "model");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->iterations(), model_.trees.size() / model_.classes);
  EXPECT_EQ(Predicted(*again, Rows(), PredictionKind::kRaw),
            Predicted(model_, Rows(), PredictionKind::kRaw));
}

INSTANTIATE_TEST_SUITE_P(All, XgboostParallel,
                         testing::Values("xgb_parallel_squared", "xgb_parallel_binary",
                                         "xgb_parallel_multiclass", "xgb_parallel_dart"),
                         [](const auto& param) { return std::string(param.param); });

TEST(XgboostJson, RoundsThatAreNotWholeAreAnError) {
  const std::string text = ModelText("xgb_parallel_squared");
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string changed = text;
    changed.replace(changed.find(old), old.size(), now);
    const Result<TreeModel> model = ReadXgboostJson(changed, "model");
    return std::string(model.ok() ? "" : model.status().message());
  };
  EXPECT_NE(with(R"("num_parallel_tree":"3")", R"("num_parallel_tree":"1")")
                .find("round 1 begins with tree 3, expected 1"),
            std::string::npos);
  EXPECT_NE(with(R"("num_parallel_tree":"3")", R"("num_parallel_tree":"4")")
                .find("9 trees are no whole rounds of 1 classes with num_parallel_tree = 4"),
            std::string::npos);
}

// A tree of one split as XGBoost writes it.
std::string OneSplit(float threshold) {
  return fmt::format(
      R"({{"learner":{{"gradient_booster":{{"model":{{"tree_info":[0],"trees":[{{
      "default_left":[1,0,0],"left_children":[1,-1,-1],"right_children":[2,-1,-1],
      "split_conditions":[{},2,4],"split_indices":[0,0,0]}}]}},"name":"gbtree"}},
      "learner_model_param":{{"base_score":"0","num_feature":"1"}},
      "objective":{{"name":"reg:squarederror"}}}}}})",
      threshold);
}

// As numbers that nothing is made of.
TEST(XgboostJson, LossesWithoutALinkPredictTheirScores) {
  for (const auto& [theirs, ours] :
       std::map<std::string, std::string>{{"reg:squaredlogerror", "regression"},
                                          {"reg:absoluteerror", "regression_l1"},
                                          {"reg:pseudohubererror", "huber"},
                                          {"reg:quantileerror", "quantile"}}) {
    std::string text = OneSplit(1);
    text.replace(text.find("reg:squarederror"), std::string("reg:squarederror").size(), theirs);
    text.replace(text.find("\"base_score\":\"0\""), 16, "\"base_score\":\"[-5E-1]\"");
    const TreeModel model = Model(text);
    EXPECT_EQ(model.objective, ours);
    EXPECT_EQ(Predicted(model, {{0.5}, {1.5}}, PredictionKind::kTransformed),
              (std::vector<double>{1.5, 3.5}));
  }
}

// Every double must go where its float goes.
TEST(XgboostJson, ThresholdsSendDoublesWhereFloatsGo) {
  for (const float threshold :
       {1.0F, 0.1F, -0.1F, 0.0F, 1e-45F, -1e-45F, 3e38F, -std::numeric_limits<float>::max()}) {
    const TreeModel model = Model(OneSplit(threshold));
    const double at = model.trees[0].nodes[0].threshold;
    EXPECT_LT(static_cast<float>(at), threshold);
    EXPECT_GE(static_cast<float>(std::nextafter(at, 1e300)), threshold) << threshold;
    const Result<std::string> text = WriteXgboostJson(model);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(Model(*text).trees[0].nodes[0].threshold, at) << threshold;
  }
}

// XGBoost reads numbers that are larger than a float as infinity.
TEST(XgboostJson, AThresholdAboveAllFloatsIsInfinite) {
  TreeModel model = Model(OneSplit(1));
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (const double threshold : {kLargest, 1e300, std::numeric_limits<double>::infinity()}) {
    model.trees[0].nodes[0].threshold = threshold;
    const Result<std::string> text = WriteXgboostJson(model);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    EXPECT_NE(text->find(R"("split_conditions":[1e39,)"), std::string::npos) << *text;
    EXPECT_EQ(Model(*text).trees[0].nodes[0].threshold, std::numeric_limits<double>::infinity());
    EXPECT_EQ(Predicted(Model(*text), {{kLargest}}, PredictionKind::kRaw),
              Predicted(model, {{kLargest}}, PredictionKind::kRaw));
  }
}

TEST(XgboostJson, LightGbmsModelsSendFloatsToTheSameLeaves) {
  for (const char* const name : {"binary", "poisson", "rank", "multiclass", "forest", "infinite"}) {
    const Result<TreeModel> model =
        ReadLightGbmText(Golden(std::string("gbdt/") + name + ".model.txt"), name);
    ASSERT_TRUE(model.ok());
    const Result<std::string> text = WriteXgboostJson(*model);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    const TreeModel again = Model(*text);
    auto rows = GoldenRows("rows.csv");
    for (auto& row : rows) {
      for (double& value : row) value = static_cast<float>(value);
    }
    ExpectClose(Predicted(again, rows, PredictionKind::kTransformed),
                Predicted(*model, rows, PredictionKind::kTransformed), 1e-6, name);
  }
}

TEST(XgboostJson, HasTheModelsNamesAndTypesButNotNamesThatNobodyGave) {
  Random random(5);
  TreeModel model = RandomModel({.leaves = 2}, random);
  model.trees = {Tree{}};
  model.trees[0].leaves.push_back({.value = 1, .weight = 1, .rows = 1});
  model.objective = "regression";
  model.classes = model.trees_per_iteration = 1;
  model.feature_names = {"age", "town"};
  model.feature_infos = {"[0:9]", "2:0:1"};
  const auto written = [&] {
    const Result<std::string> text = WriteXgboostJson(model);
    return text.ok() ? *text : text.status().ToString();
  };
  EXPECT_NE(written().find(R"("feature_names":["age","town"],"feature_types":["float","c"])"),
            std::string::npos)
      << written();
  // XGBoost would turn data without names away.
  model.feature_names = {"Column_0", "Column_1"};
  EXPECT_NE(written().find(R"("feature_names":[],"feature_types":["float","c"])"),
            std::string::npos)
      << written();
}

TEST(XgboostJson, WhatItCannotSayIsAnError) {
  Random random(3);
  TreeModel model = RandomModel({.leaves = 30}, random);
  const auto expect = [&](const char* message) {
    const Result<std::string> text = WriteXgboostJson(model);
    ASSERT_FALSE(text.ok()) << message;
    EXPECT_EQ(text.status().code(), StatusCode::kInvalid);
    EXPECT_NE(text.status().message().find(message), std::string::npos) << text.status().message();
  };
  expect("tree 0: a split takes zero as missing");
  model.objective = "multiclassova num_class:3 sigmoid:1";
  expect("objective 'multiclassova num_class:3 sigmoid:1' is one that XGBoost does not have");
  model.objective = "regression sqrt";
  expect("is one that XGBoost does not have");
}

// One change of the good file that makes it wrong, and a part of the message.
struct Damage {
  const char* from;
  const char* to;
  const char* message;
};

TEST(XgboostJson, BadFilesSayWhereAndWhy) {
  const std::string good = OneSplit(1);
  const Damage damages[] = {
      {"{\"learner\"", "{\"learner\",", "expected JSON, found"},
      {"\"learner\":", "\"teacher\":", "model: 'learner' is missing"},
      {"\"trees\":[", "\"trees\":[7,", "tree_info: expected an array of 2, found an array of 1"},
      {"[1,-1,-1]", "[0,-1,-1]", "trees[0]: node 0 has two parents"},
      {"[1,-1,-1]", "[2,-1,-1]", "trees[0]: node 2 has two parents"},
      {"[1,-1,-1]", "[9,-1,-1]", "child 9: the tree has 3 nodes"},
      {"[1,-1,-1]", "[1,-2,-1]", "expected whole numbers from -1"},
      {"[1,-1,-1]", "[]", "left_children: expected 1 to"},
      {"[1,-1,-1]", "{}", "left_children: expected an array, found an object"},
      {"[2,-1,-1]", "[-1,-1,-1]", "node 0 has one child"},
      {"[2,-1,-1]", "[2,-1]", "right_children: expected an array of 3"},
      {"[0,0,0]}", "[1,0,0]}", "node 0 tests feature 1: the model has 1 features"},
      {"[1,2,4]", "[1,2,1e999]", "model: "},
      {"[1,2,4]", "[-1e39,2,4]", "the threshold of node 0"},
      {"[1,2,4]", "[\"x\",2,4]", "split_conditions: expected numbers, found \"x\" at place 0"},
      {"[0],\"trees\"", "[1],\"trees\"", "tree_info: expected whole numbers from 0 to 0"},
      {"gbtree\"", "gblinear\"", "booster gblinear is not supported"},
      {"reg:squarederror", "survival:cox", "objective survival:cox is not supported"},
      {"reg:squarederror", "binary:logistic", "base_score: 0 is no mean"},
      {"\"base_score\":\"0\"", "\"base_score\":\"[1,2]\"",
       "base_score: expected 1 numbers, found 2"},
      {"\"base_score\":\"0\"", "\"base_score\":\"[1\"", "base_score: "},
      {"\"num_feature\":\"1\"", "\"num_feature\":\"99999999999\"", "num_feature: expected a whole"},
      {"\"num_feature\":\"1\"", "\"num_feature\":\"1\",\"num_target\":\"3\"", "3 targets"},
      {"\"num_feature\":\"1\"", "\"num_feature\":1,\"num_class\":1000000000",
       "num_class: expected"},
      {"\"default_left\":[1,0,0]",
       "\"default_left\":[1,0,0],\"categories_nodes\":[0],\"categories\":[1],"
       "\"categories_segments\":[0],\"categories_sizes\":[9]",
       "categories_sizes: expected whole numbers from 0 to 1"},
      {"\"default_left\":[1,0,0]",
       "\"default_left\":[1,0,0],\"categories_nodes\":[0],\"categories\":[16777216],"
       "\"categories_segments\":[0],\"categories_sizes\":[1]",
       "categories: expected whole numbers from 0 to 16777215"},
  };
  for (const Damage& damage : damages) {
    std::string text = good;
    const size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.from;
    text.replace(at, std::string(damage.from).size(), damage.to);
    const Result<TreeModel> model = ReadXgboostJson(text, "model");
    ASSERT_FALSE(model.ok()) << damage.from << " -> " << damage.to;
    EXPECT_NE(model.status().message().find(damage.message), std::string::npos)
        << model.status().message() << "\nexpected: " << damage.message;
  }
}

}  // namespace
}  // namespace strata
