#include "worker/gbdt/input/forced_bins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sim_disk.h"
#include "worker/gbdt/data/text_rows.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ForcedBins : public ::testing::Test {
 protected:
  std::string ErrorOf(const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(disk_, "bins.json", text).ok());
    const auto read = ReadForcedBins(disk_, "bins.json");
    EXPECT_FALSE(read.ok()) << text;
    return read.status().message();
  }

  // Why data of two features, the second a category, are not loaded.
  std::string LoadErrorOf(size_t feature) {
    EXPECT_TRUE(WriteFileAtomically(disk_, "d.csv", "0,1,2\n1,2,1\n0,3,2\n1,4,1\n").ok());
    const auto pool = *WorkPool::Start("test", 0);
    const auto source = *TextRows::Open(disk_, "d.csv", {});
    const auto data = LoadTreeDataset(disk_, *source, "d.csv",
                                      {.binning = {.min_data_in_bin = 1, .pre_filter = false},
                                       .categorical = {"1"},
                                       .forced_bounds = {{feature, {0.5}}}},
                                      nullptr, *pool);
    EXPECT_FALSE(data.ok());
    return data.status().message();
  }

  SimDisk disk_;
};

TEST_F(ForcedBins, AreReadByFeature) {
  const std::string text =
      R"([{"feature": 3, "bin_upper_bound": [1, 1, -2.5]}, {"feature": 0, "bin_upper_bound": []}])";
  ASSERT_TRUE(WriteFileAtomically(disk_, "bins.json", text).ok());
  const auto read = ReadForcedBins(disk_, "bins.json");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_THAT(read->at(3), ElementsAre(1, -2.5));
  EXPECT_THAT(read->at(0), ElementsAre());
  EXPECT_TRUE(ReadForcedBins(disk_, "")->empty());
}

TEST_F(ForcedBins, WhatIsWrongIsNamed) {
  EXPECT_EQ(ReadForcedBins(disk_, "none.json").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(ErrorOf("{"), HasSubstr("forcedbins_filename: bins.json"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("expected an array"));
  EXPECT_THAT(ErrorOf(R"([{"feature": 1}])"), HasSubstr("bin_upper_bound"));
  EXPECT_THAT(ErrorOf(R"([{"feature": -1, "bin_upper_bound": [1]}])"), HasSubstr("-1"));
  EXPECT_THAT(ErrorOf(R"([{"feature": 1, "bin_upper_bound": ["x"]}])"),
              HasSubstr("expected numbers"));
  EXPECT_THAT(ErrorOf(R"([{"feature": 1, "bin_upper_bound": [1]},
                          {"feature": 1, "bin_upper_bound": [2]}])"),
              HasSubstr("feature 1 is there twice"));
  EXPECT_THAT(LoadErrorOf(2), HasSubstr("feature 2: d.csv has 2 features"));
  EXPECT_THAT(LoadErrorOf(1), HasSubstr("feature 1 is categorical"));
}

}  // namespace
}  // namespace strata
