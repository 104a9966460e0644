// The article's histograms against plain sums: they are the same to the bit, as sums of such
// gradients are exact.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/kernels/article_histogram.cuh"
#include "bench/kernels/packed_rows.h"
#include "tests/support/device_memory.cuh"

namespace strata::bench {
namespace {

void ExpectPlainSums(ArticleKernel kernel, const PackedRows& rows) {
  DeviceArray<uint32_t> words(rows.words), list(rows.list), begins(rows.begins);
  DeviceArray<float> gradients(rows.gradients), weights(rows.weights);
  const std::vector<double> plain = rows.PlainHistogram();
  const std::vector<float> zeros(plain.size());
  DeviceArray<float> sums(zeros);
  const LevelRows level{.words = words.data(),
                        .list = rows.list.empty() ? nullptr : list.data(),
                        .begins = begins.data(),
                        .gradients = gradients.data(),
                        .weights = weights.data(),
                        .rows = rows.rows,
                        .words_of_row = static_cast<uint32_t>(rows.words_of_row()),
                        .leaves = static_cast<uint32_t>(rows.leaves()),
                        .rows_of_leaf = static_cast<uint32_t>(rows.listed()),
                        .bins = rows.shape.bins};
  for (int time = 1; time <= 2; ++time) {  // they are added to what is there
    AddArticleHistogram(kernel, level, sums.data(), nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const std::vector<float> found = sums.Get();
    for (size_t i = 0; i < plain.size(); ++i) {
      ASSERT_EQ(found[i], time * plain[i])
          << "number " << i << ", " << rows.shape.bins << " bins, " << rows.leaves() << " leaves";
    }
  }
}

class ArticleHistogram : public testing::TestWithParam<uint32_t> {};

TEST_P(ArticleHistogram, IsThePlainSumOfTheRows) {
  STRATA_SKIP_BELOW_GPUS(1);
  const size_t rows = kGpuIsEmulated ? 5'000 : 200'000;
  for (const ArticleKernel kernel : {ArticleKernel::kSlices, ArticleKernel::kAtomics}) {
    for (const size_t leaves : {size_t{1}, size_t{5}}) {
      ExpectPlainSums(kernel, MakePackedRows(GetParam(), rows, 11, leaves, 3));
    }
    ExpectPlainSums(kernel, MakePackedRows(GetParam(), 7, 4, 1, 4));
    ExpectPlainSums(kernel, MakePackedRows(GetParam(), 40, 4, 30, 5));  // leaves without rows
  }
}

INSTANTIATE_TEST_SUITE_P(Bins, ArticleHistogram, testing::Values(15, 32, 64, 128, 255));

}  // namespace
}  // namespace strata::bench
