// The public face of boosted trees, beside the same rows as a file.
#include "strata/boosted_trees.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/labelled_rows.h"
#include "tests/worker/gbdt/tree_data.h"
#include "worker/gbdt/boost/booster.h"

namespace strata {
namespace {

constexpr size_t kRows = 700;
constexpr size_t kFeatures = 4;

using Parameters = std::map<std::string, std::string>;

const Parameters kBinary = {{"objective", "binary"},         {"num_leaves", "7"},
                            {"num_iterations", "5"},         {"min_data_in_bin", "1"},
                            {"feature_pre_filter", "false"}, {"num_threads", "2"}};

class BoostedTreesTest : public testing::Test {
 protected:
  BoostedTreesTest()
      : pool_(PoolOf(1)),
        data_(MakeTreeData(
            3, kRows, kFeatures,
            [](const std::vector<double>& x) { return x[0] + x[2] > 0.3 ? 1 : 0; }, *pool_)) {
    for (const std::vector<double>& row : data_.rows) {
      values_.insert(values_.end(), row.begin(), row.end());
    }
    labels_ = data_.data->labels;
  }

  TreeRows Rows() const {
    return {.values = std::span<const double>(values_), .features = kFeatures, .labels = labels_};
  }
  // Half 0 has the first rows, and half 1 the others.
  TreeRows Half(size_t half) const {
    const size_t rows = kRows / 2;
    return {.values =
                std::span<const double>(values_).subspan(half * rows * kFeatures, rows * kFeatures),
            .features = kFeatures,
            .labels = std::span<const float>(labels_).subspan(half * rows, rows)};
  }
  static BoostedTrees Trained(const TreeRows& rows, const Parameters& parameters) {
    Result<BoostedTrees> trees = BoostedTrees::Train(rows, {.parameters = parameters});
    EXPECT_TRUE(trees.ok()) << trees.status().ToString();
    return std::move(*trees);
  }
  static std::vector<double> Predicted(const BoostedTrees& trees, const TreeRows& rows,
                                       TreeOutput output = TreeOutput::kPrediction) {
    const Result<std::vector<double>> predicted = trees.Predict(rows, output);
    EXPECT_TRUE(predicted.ok()) << predicted.status().ToString();
    return predicted.ok() ? *predicted : std::vector<double>();
  }
  static void ExpectError(const Status& status, StatusCode code, const std::string& says) {
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.ToString().find(says), std::string::npos) << status.ToString();
  }

  std::unique_ptr<WorkPool> pool_;
  TreeData data_;
  std::vector<double> values_;
  std::vector<float> labels_;
};

TEST_F(BoostedTreesTest, AreThoseOfTheSameRowsInAFile) {
  std::string conf;
  for (const auto& [key, value] : kBinary) conf += fmt::format("{} = {}\n", key, value);
  const auto booster = Booster::Make(ParametersOf(conf), *data_.data, {}, *pool_, 2);
  ASSERT_TRUE(booster.ok()) << booster.status().ToString();
  for (int round = 0; round < 5; ++round) ASSERT_TRUE((*booster)->Round().ok());

  const BoostedTrees trees = Trained(Rows(), kBinary);
  EXPECT_EQ(trees.rounds(), 5U);
  EXPECT_EQ(trees.features(), kFeatures);
  const std::vector<double> scores = Predicted(trees, Rows(), TreeOutput::kRawScore);
  EXPECT_EQ(scores, data_.Predict((*booster)->model()));
  const std::vector<double> predictions = Predicted(trees, Rows());
  ASSERT_EQ(predictions.size(), kRows);
  for (size_t row = 0; row < kRows; ++row) {
    EXPECT_NEAR(predictions[row], 1 / (1 + std::exp(-scores[row])), 1e-12);
  }
}

TEST_F(BoostedTreesTest, WeightsCountAsRowsThatComeAgain) {
  std::vector<double> twice = values_;
  std::vector<float> labels = labels_;
  std::vector<float> weights(kRows, 1.0F);
  for (size_t row = 0; row < kRows; row += 3) {
    twice.insert(twice.end(), values_.begin() + static_cast<std::ptrdiff_t>(row * kFeatures),
                 values_.begin() + static_cast<std::ptrdiff_t>((row + 1) * kFeatures));
    labels.push_back(labels_[row]);
    weights[row] = 2;
  }
  Parameters parameters = kBinary;
  parameters["min_data_in_leaf"] = "0";  // it counts rows
  TreeRows weighted = Rows();
  weighted.weights = weights;
  const BoostedTrees by_weight = Trained(weighted, parameters);
  const BoostedTrees by_copies =
      Trained({.values = std::span<const double>(twice), .features = kFeatures, .labels = labels},
              parameters);
  const std::vector<double> one = Predicted(by_weight, Rows());
  const std::vector<double> other = Predicted(by_copies, Rows());
  for (size_t row = 0; row < kRows; ++row) EXPECT_NEAR(one[row], other[row], 1e-6);
  EXPECT_NE(one, Predicted(Trained(Rows(), parameters), Rows()));
}

TEST_F(BoostedTreesTest, TakeFloatsAndDoubles) {
  std::vector<float> floats(values_.begin(), values_.end());
  const std::vector<double> rounded(floats.begin(), floats.end());
  const TreeRows as_floats = {
      .values = std::span<const float>(floats), .features = kFeatures, .labels = labels_};
  const TreeRows as_doubles = {
      .values = std::span<const double>(rounded), .features = kFeatures, .labels = labels_};
  EXPECT_EQ(Predicted(Trained(as_floats, kBinary), as_floats),
            Predicted(Trained(as_doubles, kBinary), as_doubles));
}

TEST_F(BoostedTreesTest, FilesHoldThem) {
  const TempFolder folder;
  const BoostedTrees trees = Trained(Rows(), kBinary);
  for (const TreeFileFormat format : {TreeFileFormat::kLightGbm, TreeFileFormat::kXgboost}) {
    const std::string path = folder.File("model");
    ASSERT_TRUE(trees.Write(path, format).ok());
    const Result<BoostedTrees> read = BoostedTrees::Read(path);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->rounds(), 5U);
    const std::vector<double> expected = Predicted(trees, Rows());
    const std::vector<double> found = Predicted(*read, Rows());
    ASSERT_EQ(found.size(), expected.size());
    // XGBoost's leaves are floats.
    for (size_t row = 0; row < kRows; ++row) EXPECT_NEAR(found[row], expected[row], 1e-6);
  }
  ExpectError(BoostedTrees::Read(folder.File("absent")).status(), StatusCode::kNotFound, "absent");
  ExpectError(BoostedTrees::Read("").status(), StatusCode::kInvalid, "path of the model's file is");
  ExpectError(trees.Write(""), StatusCode::kInvalid, "the path of the model's file is empty");
}

TEST_F(BoostedTreesTest, ContributionsAddUpToTheScoreAndLeavesAreOneATree) {
  const BoostedTrees trees = Trained(Rows(), kBinary);
  const std::vector<double> scores = Predicted(trees, Rows(), TreeOutput::kRawScore);
  const std::vector<double> parts = Predicted(trees, Rows(), TreeOutput::kContributions);
  ASSERT_EQ(parts.size(), kRows * (kFeatures + 1));
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t i = 0; i <= kFeatures; ++i) sum += parts[row * (kFeatures + 1) + i];
    EXPECT_NEAR(sum, scores[row], 1e-9);
  }
  EXPECT_EQ(Predicted(trees, Rows(), TreeOutput::kLeaves).size(), kRows * trees.rounds());
}

TEST_F(BoostedTreesTest, StopsEarlyAfterTheBestRound) {
  std::vector<float> noise;  // no tree predicts it
  for (size_t row = 0; row < kRows / 2; ++row) noise.push_back(static_cast<float>(row * 7 % 5 < 2));
  TreeRows valid = Half(1);
  valid.labels = noise;
  std::vector<double> losses;
  Parameters parameters = kBinary;
  parameters["num_iterations"] = "100";
  parameters["early_stopping_round"] = "3";
  const Result<BoostedTrees> trees =
      BoostedTrees::Train(Half(0), {.parameters = parameters,
                                    .valid = std::span(&valid, 1),
                                    .evaluated = [&](const TreeEvaluation& one) -> Status {
                                      EXPECT_EQ(one.round, losses.size() + 1);
                                      EXPECT_EQ(one.data, "valid_1");
                                      EXPECT_EQ(one.metric, "binary_logloss");
                                      losses.push_back(one.value);
                                      return {};
                                    }});
  ASSERT_TRUE(trees.ok()) << trees.status().ToString();
  const auto best = std::ranges::min_element(losses) - losses.begin() + 1;
  EXPECT_EQ(trees->rounds(), static_cast<size_t>(best));
  EXPECT_EQ(losses.size(), static_cast<size_t>(best) + 3);

  const std::vector<double> predicted = Predicted(*trees, valid);
  double loss = 0;
  for (size_t row = 0; row < noise.size(); ++row) {
    loss -= std::log(noise[row] > 0 ? predicted[row] : 1 - predicted[row]);
  }
  EXPECT_NEAR(loss / static_cast<double>(noise.size()), losses[static_cast<size_t>(best) - 1],
              1e-9);
}

TEST_F(BoostedTreesTest, TheCallerEndsTraining) {
  const TreeRows valid = Half(1);
  const Status status =
      BoostedTrees::Train(Half(0), {.parameters = kBinary,
                                    .valid = std::span(&valid, 1),
                                    .evaluated = [](const TreeEvaluation& one) -> Status {
                                      return one.round == 2 ? Cancelled("enough") : Status();
                                    }})
          .status();
  ExpectError(status, StatusCode::kCancelled, "enough");
}

TEST_F(BoostedTreesTest, WrongRowsAreNamed) {
  const auto expect = [&](const TreeRows& rows, const std::string& says) {
    ExpectError(BoostedTrees::Train(rows, {.parameters = kBinary}).status(), StatusCode::kInvalid,
                says);
  };
  TreeRows rows = Rows();
  rows.features = 0;
  expect(rows, "rows: 0 features");
  rows.features = 3;
  expect(rows, "rows: 2800 values do not make rows of 3 features");
  rows = Rows();
  rows.labels = rows.labels.subspan(1);
  expect(rows, "rows: 699 labels for 700 rows");
  rows = Rows();
  rows.weights = rows.labels.subspan(2);
  expect(rows, "rows: 698 weights for 700 rows");
  expect({.values = {}, .features = 2}, "rows: no row");
  std::vector<float> labels = labels_;
  labels[4] = std::numeric_limits<float>::quiet_NaN();
  rows = Rows();
  rows.labels = labels;
  expect(rows, "rows: row 5: label nan");
  labels[4] = 2;
  expect(rows, "row 5");
  rows = Rows();
  std::vector<float> weights(kRows, 1.0F);
  weights[6] = -1;
  rows.weights = weights;
  expect(rows, "rows: row 7: weight -1");

  const TreeRows few = {.values = std::span<const double>(values_).first(kRows * 3),
                        .features = 3,
                        .labels = labels_};
  ExpectError(
      BoostedTrees::Train(Rows(), {.parameters = kBinary, .valid = std::span(&few, 1)}).status(),
      StatusCode::kInvalid, "valid[0]: 3 features, the rows to train on have 4");

  rows = Rows();
  rows.features = 2;
  ExpectError(Trained(Rows(), kBinary).Predict(rows).status(), StatusCode::kInvalid,
              "rows: 2 features, the model has 4");
}

TEST_F(BoostedTreesTest, WrongParametersAreNamed) {
  const auto expect = [&](const std::string& key, const std::string& value,
                          const std::string& says) {
    ExpectError(BoostedTrees::Train(Rows(), {.parameters = {{key, value}}}).status(),
                StatusCode::kInvalid, says);
  };
  expect("num_leafs", "3", "num_leafs");
  expect("num_leaves", "1", "num_leaves");
  expect("early_stopping_round", "3", "TreeTraining::valid");
  expect("objective", "lambdarank", "objective = lambdarank needs queries");
  expect("monotone_constraints", "1,0", "monotone_constraints");
  for (const char* key :
       {"data", "train", "valid", "task", "output_model", "label_column", "predict_raw_score",
        "machines", "tree_learner", "snapshot_freq", "metric_freq"}) {
    expect(key, "x", fmt::format("parameters: {} has no meaning for rows in memory", key));
  }
}

}  // namespace
}  // namespace strata
