// Bundles of features hold what a column for each feature holds, and everything that reads them
// finds the same.
#include "kernels/tree/bins/bin_matrix.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "kernels/tree/grow/partition.h"
#include "kernels/tree/histogram/histogram.h"

namespace strata {
namespace {

constexpr size_t kRows = 3000;

// Features 1, 2, 4, 5 and 6 exclude each other; 0 and 3 are dense, 7 is wide.
struct Exclusive {
  Exclusive() : apart(kRows, counts), bundled(kRows, counts, bundles) {
    Random random(41);
    for (size_t row = 0; row < kRows; ++row) {
      std::vector<uint32_t> row_bins = bundles.default_bins;
      for (const size_t f : {0, 3, 7}) {
        row_bins[f] = static_cast<uint32_t>(random.Below(counts[f]));
      }
      const size_t features[] = {1, 2, 4, 5, 6};
      const size_t one = features[random.Below(5)];
      if (random.Chance(0.7)) row_bins[one] = static_cast<uint32_t>(random.Below(counts[one]));
      apart.SetRow(row, row_bins);
      BinRow values(bundled);
      for (size_t f = 0; f < counts.size(); ++f) EXPECT_TRUE(values.Put(f, row_bins[f]));
      bundled.SetRow(row, values.values());
      bins.push_back(row_bins);
      const auto gradient = static_cast<int32_t>(random.Below(2 * kLevels16 + 1)) - kLevels16;
      const auto hessian = static_cast<int32_t>(random.Below(kLevels16 + 1));
      rows16.push_back(PackRow16(gradient, hessian));
      rows32.push_back({gradient, hessian});
    }
  }

  const std::vector<uint32_t> counts = {200, 2, 30, 255, 5, 2, 17, 300};
  const BinBundles bundles = {.columns = {{0}, {1, 2, 4}, {3}, {5, 6}, {7}},
                              .default_bins = {7, 0, 29, 0, 2, 1, 0, 3}};
  BinMatrix apart;
  BinMatrix bundled;
  std::vector<std::vector<uint32_t>> bins;
  std::vector<uint32_t> rows16;
  std::vector<Row32> rows32;
};

TEST(BinBundles, EachFeatureHasItsBinInEachRow) {
  const Exclusive data;
  ASSERT_TRUE(data.bundled.has_bundles());
  EXPECT_FALSE(data.apart.has_bundles());
  EXPECT_EQ(data.bundled.columns(), 5U);
  EXPECT_EQ(data.bundled.values_of(1), 1U + 1 + 29 + 4);
  EXPECT_EQ(data.bundled.histogram_bins(), data.apart.histogram_bins());
  const BinMatrix again = data.bundled.WithoutBundles();
  ASSERT_FALSE(again.has_bundles());
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t f = 0; f < data.counts.size(); ++f) {
      ASSERT_EQ(data.bundled.BinAt(f, row), data.bins[row][f]) << row << " " << f;
      ASSERT_EQ(again.BinAt(f, row), data.bins[row][f]) << row << " " << f;
    }
  }
}

TEST(BinBundles, FeaturesThatARowDoesNotNameAreInDefaultBins) {
  const Exclusive data;
  BinMatrix one(1, data.counts, data.bundles);
  BinRow values(one);
  EXPECT_TRUE(values.Put(2, 4));
  values.Clear();
  one.SetRow(0, values.values());
  for (size_t f = 0; f < data.counts.size(); ++f) {
    EXPECT_EQ(one.BinAt(f, 0), data.bundles.default_bins[f]);
  }
}

TEST(BinBundles, TwoFeaturesOutOfTheirDefaultBinsAreNoticed) {
  const std::vector<uint32_t> counts = {3, 4};
  BinMatrix bins(1, counts, {.columns = {{0, 1}}, .default_bins = {0, 1}});
  BinRow values(bins);
  EXPECT_TRUE(values.Put(1, 3));
  EXPECT_FALSE(values.Put(0, 2));
  EXPECT_TRUE(values.Put(0, 0));  // its default bin
  bins.SetRow(0, values.values());
  EXPECT_EQ(bins.BinAt(0, 0), 0U);
  EXPECT_EQ(bins.BinAt(1, 0), 3U);
}

// What is left once features were taken out of bundles: no column is shared any more.
TEST(BinBundles, ColumnsOfOneFeatureEachMayBeInAnyOrder) {
  const std::vector<uint32_t> counts = {3, 4, 5};
  BinMatrix bins(1, counts, {.columns = {{0}, {2}, {1}}, .default_bins = {0, 1, 2}});
  ASSERT_FALSE(bins.has_bundles());
  BinRow values(bins);
  EXPECT_TRUE(values.Put(1, 3));
  bins.SetRow(0, values.values());
  EXPECT_EQ(bins.BinAt(0, 0), 0U);
  EXPECT_EQ(bins.BinAt(1, 0), 3U);
  EXPECT_EQ(bins.BinAt(2, 0), 2U);
}

TEST(BinBundles, HistogramsAreThoseOfFeaturesApart) {
  const Exclusive data;
  Random random(5);
  for (const double share : {0.02, 0.5, 1.1}) {
    std::vector<uint32_t> rows;
    std::vector<uint32_t> rows16;
    std::vector<Row32> rows32;
    for (uint32_t row = 0; row < kRows; ++row) {
      if (!random.Chance(share)) continue;
      rows.push_back(row);
      rows16.push_back(data.rows16[row]);
      rows32.push_back(data.rows32[row]);
    }
    for (const bool wide : {false, true}) {
      const FixedGradients gradients = {wide ? std::span<const uint32_t>() : rows16,
                                        wide ? rows32 : std::span<const Row32>()};
      std::vector<GradientSums> histograms[2];
      for (const BinMatrix* bins : {&data.apart, &data.bundled}) {
        std::vector<GradientSums>& histogram = histograms[bins == &data.bundled ? 1 : 0];
        histogram.assign(bins->histogram_bins(), {5, 6});
        for (const BinBlock& block : bins->blocks()) {
          BuildBlockHistogram(*bins, block, rows, gradients, histogram);
        }
      }
      EXPECT_EQ(histograms[0], histograms[1]) << share << " " << wide;
    }
  }
}

TEST(BinBundles, RowsGoToTheSameSides) {
  const Exclusive data;
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < kRows; ++row) rows.push_back(row);
  for (size_t f = 0; f < data.counts.size(); ++f) {
    const FeatureShape shape = {.bins = data.counts[f],
                                .missing = f % 2 == 0 ? MissingKind::kNaN : MissingKind::kNone};
    Split split;
    split.threshold = data.counts[f] / 2;
    split.default_left = f % 4 == 0;
    const SplitSides sides(shape, split);
    std::vector<uint8_t> marks[2];
    for (const BinMatrix* bins : {&data.apart, &data.bundled}) {
      std::vector<uint8_t>& of = marks[bins == &data.bundled ? 1 : 0];
      of.resize((kRows + 7) / 8);
      MarkLeft(bins->column(f), sides.OfColumn(*bins, f), rows, of);
    }
    EXPECT_EQ(marks[0], marks[1]) << f;
  }
}

}  // namespace
}  // namespace strata
