#include "worker/gbdt/data/feature_bundles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/random.h"
#include "tests/support/sim_disk.h"
#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/data/text_rows.h"

namespace strata {
namespace {

TEST(FeatureBundles, FeaturesOfABundleNeverMeetAndHave256ValuesAtMost) {
  Random random(3);
  constexpr size_t kSampled = 4000;
  constexpr size_t kFeatures = 300;
  std::vector<NonZeroRows> non_zero(kFeatures);
  std::vector<FeatureShape> shapes;
  for (size_t f = 0; f < kFeatures; ++f) {
    shapes.push_back({.bins = static_cast<uint32_t>(f % 7 == 0 ? 90 : 2 + f % 3)});
    const double share = f % 50 == 0 ? 0.9 : f % 5 == 0 ? 0.05 : 0.002;
    for (uint32_t row = 0; row < kSampled; ++row) {
      if (random.Chance(share)) non_zero[f].Add(row);
    }
  }
  shapes[1].bins = 300;
  const auto columns = FindBundles(shapes, non_zero, kSampled);
  EXPECT_LT(columns.size(), kFeatures / 3);
  std::set<uint32_t> placed;
  for (const std::vector<uint32_t>& features : columns) {
    size_t values = 1;
    std::set<uint32_t> rows;
    for (const uint32_t f : features) {
      EXPECT_TRUE(placed.insert(f).second) << f;
      values += shapes[f].bins - 1;
      for (const uint32_t row : non_zero[f].rows()) EXPECT_TRUE(rows.insert(row).second) << f;
      if (f % 50 == 0 || f == 1) {
        EXPECT_EQ(features.size(), 1U) << f;
      }
    }
    if (features.size() > 1) {
      EXPECT_LE(values, 256U);
    }
  }
  EXPECT_EQ(placed.size(), kFeatures);
}

TEST(FeatureBundles, AThousandColumnsOfOneCategoryAreFour) {
  constexpr size_t kFeatures = 1000;
  std::vector<NonZeroRows> non_zero(kFeatures);
  for (uint32_t row = 0; row < 20000; ++row) non_zero[row * 7 % kFeatures].Add(row);
  const std::vector<FeatureShape> shapes(kFeatures, {.bins = 2});
  EXPECT_EQ(FindBundles(shapes, non_zero, 20000).size(), 4U);
}

class BundledData : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pool = WorkPool::Start("tree", 2);
    ASSERT_TRUE(pool.ok());
    pool_ = std::move(*pool);
    // One of 40 columns is not 0, some of them negative; in a few rows, which come late, two.
    std::string text;
    Random random(9);
    for (size_t row = 0; row < 3000; ++row) {
      const size_t one = random.Below(40);
      text += fmt::format("{} {}:{}", row % 2, one,
                          one % 3 == 0 ? -1.5 : 1 + static_cast<double>(row % 4));
      if (row > 2990) text += fmt::format(" {}:2", (one + 1) % 40);
      text += "\n";
    }
    ASSERT_TRUE(WriteFileAtomically(disk_, "d.svm", text).ok());
  }

  static DatasetOptions Options(size_t sample_rows, bool bundle) {
    return {.binning = {.min_data_in_bin = 1, .pre_filter = false},
            .sample_rows = sample_rows,
            .categorical = {},
            .bundle = bundle};
  }

  TreeDataset Load(const DatasetOptions& options) {
    auto source = TextRows::Open(disk_, "d.svm", {});
    EXPECT_TRUE(source.ok());
    auto data = LoadTreeDataset(disk_, **source, "d.svm", options, nullptr, *pool_);
    EXPECT_TRUE(data.ok()) << data.status().ToString();
    return std::move(*data);
  }

  static void ExpectSameBins(const TreeDataset& a, const TreeDataset& b) {
    ASSERT_EQ(a.bins.features(), b.bins.features());
    for (size_t f = 0; f < a.bins.features(); ++f) {
      for (size_t row = 0; row < a.rows(); ++row) {
        ASSERT_EQ(a.bins.BinAt(f, row), b.bins.BinAt(f, row)) << f << " " << row;
      }
    }
  }

  SimDisk disk_;
  std::unique_ptr<WorkPool> pool_;
};

TEST_F(BundledData, BinsAreTheSame) {
  const TreeDataset apart = Load(Options(200000, false));
  const TreeDataset bundled = Load(Options(200000, true));
  EXPECT_FALSE(apart.bins.has_bundles());
  EXPECT_LT(bundled.bins.columns(), 8U);
  ExpectSameBins(apart, bundled);
}

TEST_F(BundledData, FeaturesThatMeetOutsideTheSampleAreTakenOut) {
  const TreeDataset apart = Load(Options(500, false));
  const TreeDataset bundled = Load(Options(500, true));
  ASSERT_TRUE(bundled.bins.has_bundles());
  ASSERT_FALSE(bundled.features->columns.empty());
  EXPECT_GT(bundled.bins.columns(), bundled.features->columns.size());  // some have met
  ExpectSameBins(apart, bundled);
}

TEST_F(BundledData, AreSavedAsTheyAre) {
  const DatasetOptions options = Options(200000, true);
  const TreeDataset data = Load(options);
  ASSERT_TRUE(WriteDatasetFile(disk_, data, options, "d.bin").ok());
  const auto read = ReadDatasetFile(disk_, "d.bin", options, nullptr, *pool_);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->bins.columns(), data.bins.columns());
  ExpectSameBins(*read, data);
}

// What version 1 of the files lacks is the sections of keys and of columns: 16 bytes each if there
// are neither.
TEST_F(BundledData, FilesOfVersionOneAreRead) {
  const DatasetOptions options = Options(200000, false);
  const TreeDataset data = Load(options);
  ASSERT_TRUE(WriteDatasetFile(disk_, data, options, "d.bin").ok());
  std::string bytes = *ReadFile(disk_, "d.bin", 1 << 24);
  const auto after = [&](int sections) {
    size_t at = 16;
    for (int section = 0; section < sections; ++section) {
      uint64_t length = 0;
      std::memcpy(&length, bytes.data() + at, sizeof length);
      at += 16 + length;
    }
    return at;
  };
  bytes.erase(after(5), 16);
  bytes.erase(after(1), 16);
  bytes[8] = 1;
  ASSERT_TRUE(WriteFileAtomically(disk_, "d.bin", bytes).ok());
  const auto read = ReadDatasetFile(disk_, "d.bin", options, nullptr, *pool_);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ExpectSameBins(*read, data);
}

}  // namespace
}  // namespace strata
