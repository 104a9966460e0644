#include "kernels/tree/histogram/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/kernels/tree/random_bins.h"

namespace strata {
namespace {

// Each bin's sum, row by row.
std::vector<GradientSums> Reference(const RandomBins& data, const std::vector<uint32_t>& rows) {
  std::vector<GradientSums> sums(data.matrix.histogram_bins());
  for (const uint32_t row : rows) {
    for (size_t f = 0; f < data.counts.size(); ++f) {
      sums[data.matrix.histogram_begin(f) + data.bins[row][f]] += data.sums[row];
    }
  }
  return sums;
}

std::vector<GradientSums> Build(const RandomBins& data, const std::vector<uint32_t>& rows,
                                GradientWidth width) {
  std::vector<uint32_t> ordered16;
  std::vector<Row32> ordered32;
  for (const uint32_t row : rows) {
    if (width == GradientWidth::k16) ordered16.push_back(data.rows16[row]);
    if (width == GradientWidth::k32) ordered32.push_back(data.rows32[row]);
  }
  // What lay there before must not show.
  std::vector<GradientSums> histogram(data.matrix.histogram_bins(), {77, 78});
  for (const BinBlock& block : data.matrix.blocks()) {
    BuildBlockHistogram(data.matrix, block, rows, {ordered16, ordered32}, histogram);
  }
  return histogram;
}

class Histogram : public testing::TestWithParam<std::vector<uint32_t>> {};

TEST_P(Histogram, IsTheSumOfTheRows) {
  const RandomBins data(5, 3000, GetParam());
  for (const double share : {0.0, 0.001, 0.1, 0.6, 1.1}) {
    const std::vector<uint32_t> rows = SomeRows(9, data.rows, share);
    const std::vector<GradientSums> expected = Reference(data, rows);
    EXPECT_EQ(Build(data, rows, GradientWidth::k32), expected) << "32 bits, share " << share;
    if (rows.empty()) continue;  // no gradients say which width is meant
    EXPECT_EQ(Build(data, rows, GradientWidth::k16), expected) << "16 bits, share " << share;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Features, Histogram,
    testing::Values(std::vector<uint32_t>{2}, std::vector<uint32_t>{256, 1, 255},
                    std::vector<uint32_t>(28, 64), std::vector<uint32_t>{16, 17, 3, 65},
                    std::vector<uint32_t>(32, 256), std::vector<uint32_t>(77, 16),
                    std::vector<uint32_t>(33, 128),
                    std::vector<uint32_t>{300, 4, 1000, 257, 256, 65536}));

TEST(HistogramCarry, ManyRowsOfOneBinDoNotOverflow) {
  constexpr size_t kRows = 200000;
  const std::vector<uint32_t> counts = {1, 256};
  BinMatrix bins(kRows, counts);
  std::vector<uint32_t> rows;
  for (size_t row = 0; row < kRows; ++row) rows.push_back(static_cast<uint32_t>(row));
  const std::vector<uint32_t> gradients(kRows, PackRow16(-kLevels16, kLevels16));
  std::vector<GradientSums> histogram(bins.histogram_bins());
  for (const BinBlock& block : bins.blocks()) {
    BuildBlockHistogram(bins, block, rows, {gradients, {}}, histogram);
  }
  const auto most = static_cast<int64_t>(kRows) * kLevels16;
  EXPECT_EQ(histogram[0], (GradientSums{-most, most}));
  EXPECT_EQ(histogram[1], (GradientSums{-most, most}));
}

TEST(HistogramArithmetic, WhatIsLeftIsTheOtherChild) {
  const RandomBins data(6, 2000, {30, 300});
  const std::vector<uint32_t> all = SomeRows(1, data.rows, 1.1);
  const std::vector<uint32_t> some = SomeRows(2, data.rows, 0.3);
  std::vector<uint32_t> others;
  std::ranges::set_difference(all, some, std::back_inserter(others));
  std::vector<GradientSums> parent = Reference(data, all);
  SubtractHistogram(parent, Reference(data, some));
  EXPECT_EQ(parent, Reference(data, others));
  AddHistogram(parent, Reference(data, some));
  EXPECT_EQ(parent, Reference(data, all));
}

}  // namespace
}  // namespace strata
