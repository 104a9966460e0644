#include <gtest/gtest.h>

#include "tests/worker/text_disk.h"
#include "worker/gbdt/data/text_rows.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {
namespace {

class TreeDatasetTest : public testing::Test {
 protected:
  Result<TreeDataset> Load(const std::string& path, const DatasetOptions& options,
                           std::shared_ptr<const FeatureBinning> features = nullptr) {
    STRATA_ASSIGN(const std::unique_ptr<TextRows> source, TextRows::Open(disk_, path, {}));
    STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, WorkPool::Start("test", 1));
    return LoadTreeDataset(disk_, *source, path, options, std::move(features), *pool);
  }

  static DatasetOptions Small() {
    return {.binning = {.min_data_in_bin = 1, .pre_filter = false}, .categorical = {}};
  }

  void ExpectWrong(const Result<TreeDataset>& result, const std::string& message) {
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_NE(result.status().message().find(message), std::string::npos)
        << result.status().message();
  }

  TextDisk disk_;
};

TEST_F(TreeDatasetTest, EachValueIsInItsBin) {
  disk_.files["d"] = "1,5,0,7\n0,6,0,0\n1,0,0,8\n0,5,0,0\n";
  const Result<TreeDataset> data = Load("d", Small());
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  // The second feature is constant.
  EXPECT_EQ(data->features->used, (std::vector<size_t>{0, 2}));
  const double rows[4][2] = {{5, 7}, {6, 0}, {0, 8}, {5, 0}};
  for (size_t row = 0; row < 4; ++row) {
    for (size_t f = 0; f < 2; ++f) {
      EXPECT_EQ(data->bins.column(f).At(row), data->features->mapper(f).BinOf(rows[row][f]));
      const BinBlock& block = data->bins.blocks()[0];
      EXPECT_EQ(block.narrow[row * block.stride + f], data->bins.column(f).At(row));
    }
  }
  EXPECT_EQ(data->labels, (std::vector<float>{1, 0, 1, 0}));
}

TEST_F(TreeDatasetTest, ValidationRowsUseTheBinsOfTraining) {
  disk_.files["train"] = "1,5\n0,6\n1,7\n";
  disk_.files["valid"] = "1,6.9\n0,-3\n";
  const Result<TreeDataset> train = Load("train", Small());
  ASSERT_TRUE(train.ok());
  const Result<TreeDataset> valid = Load("valid", Small(), train->features);
  ASSERT_TRUE(valid.ok()) << valid.status().ToString();
  EXPECT_EQ(valid->features, train->features);
  EXPECT_EQ(valid->bins.column(0).At(0), train->features->mapper(0).BinOf(6.9));
  EXPECT_EQ(valid->bins.column(0).At(1), 0U);
}

TEST_F(TreeDatasetTest, SideFilesBelongToTheRows) {
  disk_.files["d"] = "1,5\n0,6\n1,7\n";
  disk_.files["d.weight"] = "1\n2\n0.5\n";
  disk_.files["d.query"] = "2\n1\n";
  disk_.files["d.init"] = "0.1\t-1\n0.2\t-2\n0.3\t-3\n";
  DatasetOptions options = Small();
  options.classes = 2;
  const Result<TreeDataset> data = Load("d", options);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->weights, (std::vector<float>{1, 2, 0.5}));
  EXPECT_EQ(data->query_begins, (std::vector<size_t>{0, 2, 3}));
  EXPECT_EQ(data->init_scores, (std::vector<double>{0.1, 0.2, 0.3, -1, -2, -3}));
}

TEST_F(TreeDatasetTest, RowsOfConstantsHaveNoFeatureThatIsUsed) {
  disk_.files["train"] = "1,0,0\n0,0,0\n";
  disk_.files["valid"] = "1,3,8\n";
  const Result<TreeDataset> train = Load("train", Small());
  ASSERT_TRUE(train.ok()) << train.status().ToString();
  EXPECT_EQ(train->features->names.size(), 2U);
  EXPECT_TRUE(train->features->used.empty());
  EXPECT_EQ(train->bins.features(), 0U);
  const Result<TreeDataset> valid = Load("valid", Small(), train->features);
  ASSERT_TRUE(valid.ok()) << valid.status().ToString();
  EXPECT_EQ(valid->rows(), 1U);
}

TEST_F(TreeDatasetTest, WhatDoesNotFitIsSaid) {
  disk_.files["d"] = "1,5\n0,6\n1,7\n";
  const auto with = [&](const std::string& suffix, const std::string& text) {
    TextDisk disk = disk_;
    disk_.files["d" + suffix] = text;
    const Result<TreeDataset> result = Load("d", Small());
    disk_ = disk;
    return result;
  };
  ExpectWrong(with(".weight", "1\n2\n"),
              "d.weight: 2 weights, but the data has 3 rows: expected as many");
  ExpectWrong(with(".weight", "1\n-2\n1\n"), "d.weight:2: expected one weight");
  ExpectWrong(with(".weight", "1\nx\n1\n"), "d.weight:2: expected numbers, found 'x'");
  ExpectWrong(with(".query", "2\n2\n"),
              "d.query: queries of 4 rows together, but the data has 3 rows");
  ExpectWrong(with(".query", "1.5\n1.5\n"), "d.query:1: expected one number of rows");
  ExpectWrong(with(".init", "1\n2\n"), "d.init: scores of 2 rows, but the data has 3 rows");
  ExpectWrong(with(".init", "1 2\n2 3\n1 1\n"), "d.init:1: expected 1 score, found 2");
  disk_.files["labels"] = "1\n0\n";
  ExpectWrong(Load("labels", Small()), "there is no feature");
  DatasetOptions options = Small();
  options.categorical = {"4"};
  ExpectWrong(Load("d", options), "categorical_feature: '4'");
  options.categorical = {"age"};
  ExpectWrong(Load("d", options), "categorical_feature: 'age'");
  options.categorical = {"name:age"};
  ExpectWrong(Load("d", options), "categorical_feature: 'name:age'");
  disk_.files["wide"] = "1,5,6\n";
  const Result<TreeDataset> train = Load("d", Small());
  ASSERT_TRUE(train.ok());
  ExpectWrong(Load("wide", Small(), train->features), "2 features, the training data has 1");
  disk_.files["torn"] = "1 qid:1 0:5\n0 qid:2 0:6\n1 qid:1 0:7\n";
  ExpectWrong(Load("torn", Small()), "the rows of query 1 do not stand together");
}

}  // namespace
}  // namespace strata
