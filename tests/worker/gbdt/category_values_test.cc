// What values of a categorical feature are: training, prediction and exports say the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/worker/gbdt/category_edges.h"
#include "tests/worker/gbdt/golden_model.h"
#include "tests/worker/gbdt/tree_data.h"
#include "worker/gbdt/boost/booster.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

// 40 rows of each of these; the label is 5 in category 0, 1 in 1, 9 in 2 and where there is none.
TreeData Training(WorkPool& pool) {
  TreeData data;
  const std::pair<double, double> of_rows[] = {{0, 5}, {-0.5, 5}, {1, 1},   {1.7, 1},
                                               {2, 9}, {-1, 9},   {-3.5, 9}};
  for (size_t row = 0; row < 280; ++row) {
    const auto [value, label] = of_rows[row % std::size(of_rows)];
    data.rows.push_back({value});
    data.text += fmt::format("{},{}\n", label, value);
  }
  TextDisk disk;
  disk.files["d"] = data.text;
  auto source = TextRows::Open(disk, "d", {});
  STRATA_CHECK(source.ok());
  Result<TreeDataset> loaded = LoadTreeDataset(
      disk, **source, "d", {.binning = {.pre_filter = false}, .categorical = {"0"}}, nullptr, pool);
  STRATA_CHECK(loaded.ok());
  data.data = std::make_unique<TreeDataset>(std::move(*loaded));
  return data;
}

class CategoryValues : public testing::Test {
 protected:
  CategoryValues() {
    const TreeParameters p = ParametersOf(
        "objective = regression\nlearning_rate = 1\nnum_leaves = 4\ncat_l2 = 0\ncat_smooth = 0\n");
    auto booster = Booster::Make(p, *data_.data, {}, *pool_, 1);
    STRATA_CHECK(booster.ok());
    STRATA_CHECK((*booster)->Round().ok());
    model_ = (*booster)->model();
    scores_ = *(*booster)->training_scores();
  }

  double Predicted(double value, PredictionKind kind = PredictionKind::kRaw) const {
    const Result<Predictor> predictor = Predictor::Make(model_, {.kind = kind});
    STRATA_CHECK(predictor.ok());
    std::vector<double> out;
    STRATA_CHECK(predictor->Predict(ToSparse({{value}}), *pool_, &out).ok());
    return kind == PredictionKind::kContributions ? out[0] + out[1] : out[0];
  }

  std::unique_ptr<WorkPool> pool_ = std::move(*WorkPool::Start("test", 0));
  TreeData data_ = Training(*pool_);
  TreeModel model_;
  std::vector<double> scores_;  // of training
};

TEST_F(CategoryValues, ARowIsPredictedAsItWasTrained) {
  for (size_t row = 0; row < 7; ++row) {
    EXPECT_EQ(Predicted(data_.rows[row][0]), scores_[row]) << data_.rows[row][0];
  }
}

// As LightGBM 4.7 predicts after the same training.
TEST_F(CategoryValues, PredictionsAreThoseOfLightGbm) {
  for (const double value : CategoryEdges()) {
    const double expected = value > -1 && value < 1 ? 5 : value >= 1 && value < 2 ? 1 : 9;
    EXPECT_NEAR(Predicted(value), expected, 1e-5) << value;
    EXPECT_NEAR(Predicted(value, PredictionKind::kContributions), expected, 1e-5) << value;
  }
}

TEST_F(CategoryValues, ABinHoldsTheValuesOfItsCategory) {
  const BinMapper& mapper = data_.data->features->mapper(0);
  for (const double value : CategoryEdges()) {
    const uint32_t bin = mapper.BinOf(value);
    const double leaf = Predicted(value);
    // Rows of one bin share a leaf, and so do their values in the model.
    for (const double other : CategoryEdges()) {
      if (mapper.BinOf(other) != bin) continue;
      EXPECT_EQ(Predicted(other), leaf) << value << " " << other;
    }
  }
}

// The largest category has a bit like any other.
TEST(ForestSet, TheLargestCategoryMayBeInASet) {
  std::vector<uint32_t> words(1U << 26, 0);
  words.back() = 1U << 31;
  const ForestSet set = {.begin = 0, .words = 1U << 26, .is_set = true};
  for (const double value : CategoryEdges()) {
    const bool is_largest = value == 2147483647.0 || value == 2147483647.5;
    EXPECT_EQ(set.GoesLeft(value, words.data()), is_largest) << value;
  }
}

}  // namespace
}  // namespace strata
