#include "kernels/tree/grow/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/tree/random_bins.h"

namespace strata {
namespace {

// By the words of SplitSides: what a bin means decides, not how it is stored.
bool GoesLeft(const FeatureShape& shape, const Split& split, uint32_t bin) {
  if (split.categorical) return std::ranges::count(split.left_bins, bin) > 0;
  if (shape.missing == MissingKind::kNaN && bin == shape.bins - 1) return split.default_left;
  if (shape.missing == MissingKind::kZero && bin == shape.default_bin) return split.default_left;
  return bin <= split.threshold;
}

template <typename Gradient>
void CheckPartition(const RandomBins& data, const std::vector<Gradient>& by_row, size_t feature,
                    const FeatureShape& shape, const Split& split, double share = 0.7) {
  std::vector<uint32_t> rows = SomeRows(3, data.rows, share);
  std::vector<uint32_t> expected = rows;
  const auto middle = std::stable_partition(expected.begin(), expected.end(), [&](uint32_t row) {
    return GoesLeft(shape, split, data.bins[row][feature]);
  });
  std::vector<Gradient> gradients;
  for (const uint32_t row : rows) gradients.push_back(by_row[row]);
  std::vector<uint32_t> spare_rows(rows.size());
  std::vector<Gradient> spare(rows.size());
  const size_t left = PartitionRows<Gradient>(data.matrix.column(feature), SplitSides(shape, split),
                                              {rows, gradients}, {spare_rows, spare});
  EXPECT_EQ(left, static_cast<size_t>(middle - expected.begin()));
  EXPECT_EQ(rows, expected);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(std::memcmp(&gradients[i], &by_row[rows[i]], sizeof(Gradient)), 0)
        << "row " << rows[i];
  }
}

TEST(Partition, KeepsTheOrderOnBothSides) {
  const RandomBins data(11, 5000, {20, 400});
  for (size_t feature : {0, 1}) {
    for (const MissingKind missing : {MissingKind::kNone, MissingKind::kZero, MissingKind::kNaN}) {
      for (const bool default_left : {false, true}) {
        for (const uint32_t threshold : {0U, 7U, data.counts[feature] - 2}) {
          const FeatureShape shape = {
              .bins = data.counts[feature], .missing = missing, .default_bin = 3};
          Split split;
          split.threshold = threshold;
          split.default_left = default_left;
          CheckPartition(data, data.rows16, feature, shape, split);
          CheckPartition(data, data.rows32, feature, shape, split);
        }
      }
    }
  }
}

TEST(Partition, RowsFarFromEachOther) {
  const RandomBins data(13, 60'000, {20, 400});
  for (size_t feature : {0, 1}) {
    const FeatureShape shape = {.bins = data.counts[feature]};
    Split split;
    split.threshold = data.counts[feature] / 3;
    for (const double share : {0.01, 0.001, 0.0001}) {
      CheckPartition(data, data.rows16, feature, shape, split, share);
    }
  }
}

TEST(Partition, CategoriesGoLeftBySet) {
  const RandomBins data(12, 3000, {20});
  const FeatureShape shape = {.bins = 20, .missing = MissingKind::kNaN, .categorical = true};
  Split split;
  split.categorical = true;
  split.left_bins = {2, 5, 19};
  CheckPartition(data, data.rows16, 0, shape, split);
}

}  // namespace
}  // namespace strata
