#include "worker/gbdt/data/feature_names.h"

#include <gtest/gtest.h>

#include "tests/worker/text_disk.h"
#include "worker/gbdt/data/text_rows.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {
namespace {

Result<TreeDataset> LoadWithHeader(const std::string& header) {
  TextDisk disk;
  disk.files["d"] = header + "\n1,5,2\n0,6,3\n1,7,1\n";
  STRATA_ASSIGN(const std::unique_ptr<TextRows> source,
                TextRows::Open(disk, "d", {.header = true}));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, WorkPool::Start("test", 1));
  const DatasetOptions options = {.binning = {.min_data_in_bin = 1, .pre_filter = false},
                                  .categorical = {"name:c d"}};
  return LoadTreeDataset(disk, *source, "d", options, nullptr, *pool);
}

TEST(FeatureNames, BlanksAndWhatLightGbmRefusesAreReplaced) {
  EXPECT_EQ(ModelFeatureName("a b"), "a_b");
  EXPECT_EQ(ModelFeatureName(" a\r\n"), "_a__");
  EXPECT_EQ(ModelFeatureName("a\"b,c:d[e]f{g}h"), "a_b_c_d_e_f_g_h");
}

TEST(FeatureNames, AllElseStays) {
  for (const char* name : {"a=b", "a\\b", "a\tb", "a'b", "a#b", "\xc3\xa9", "a_b"}) {
    EXPECT_EQ(ModelFeatureName(name), name);
  }
}

TEST(FeatureNames, ANameThatWasChangedOnceStays) {
  const std::string name = ModelFeatureName(" a:b {c}");
  EXPECT_EQ(ModelFeatureName(name), name);
}

TEST(FeatureNames, AnEmptyNameIsNumbered) {
  EXPECT_EQ(*ModelFeatureNames({"a", ""}), (std::vector<std::string>{"a", "Column_1"}));
}

TEST(FeatureNames, ANameThatAModelHasTwiceStays) {
  EXPECT_EQ(*ModelFeatureNames({"a", "a"}), (std::vector<std::string>{"a", "a"}));
}

TEST(FeatureNames, TwoNamesThatBecomeOneAreAnErrorWithBoth) {
  const auto names = ModelFeatureNames({"x", "a b", "a:b"});
  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.status().code(), StatusCode::kInvalid);
  EXPECT_NE(names.status().message().find("features 1 and 2 are named 'a b' and 'a:b'"),
            std::string::npos)
      << names.status().message();
}

TEST(FeatureNames, ADatasetHasTheNamesOfTheModel) {
  const Result<TreeDataset> data = LoadWithHeader("y,a=b,c d");
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->features->names, (std::vector<std::string>{"a=b", "c_d"}));
}

TEST(FeatureNames, ADatasetRefusesNamesThatBecomeOne) {
  const Result<TreeDataset> data = LoadWithHeader("y,c_d,c d");
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.status().message().find("d: features 0 and 1 are named 'c_d' and 'c d'"),
            std::string::npos)
      << data.status().message();
}

}  // namespace
}  // namespace strata
