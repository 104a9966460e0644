// The histogram of the article with which CatBoost's training on GPUs was presented: V. Ershov,
// "CatBoost Enables Fast Gradient Boosting on Decision Trees Using GPUs", developer.nvidia.com,
// 2018. It stands here to be measured beside kernels/tree/histogram.
//
// A word of 32 bits has four features, or eight of at most 16 bins, and a thread takes the word of
// a row. The sums of a bin, two a feature, belong to as many lanes: a group of 8, or of 16. At each
// step, no two lanes of a group are at the same sum: they are at different features, or one adds
// its gradient and the other one its weight. Lanes with odd numbers add the gradient first.
//
// The article's listing has two slips. Its shift, 28 - 4 * f, overlaps bins of 5 bits; here a
// feature has a byte. Its comment has the two sums in the other order than its flag.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace strata::bench {

enum class ArticleKernel : uint8_t {
  // 384 threads. Each warp adds to a slice of its own without atomics, up to 4 KB of them: 32 bins
  // times a copy for each group. With 64 bins there are two copies and with 128 one: groups that
  // share one take turns, pass after pass. With 256, two warps take the same rows, each half of the
  // bins.
  kSlices,
  // 768 threads. As many copies as 48 KB hold, which groups share by atomics.
  kAtomics,
};

// Rows of a level, all in the GPU's memory. PackedRows tells how they are laid out.
struct LevelRows {
  const uint32_t* words;
  const uint32_t* list;  // null: one leaf of all rows, in order
  const uint32_t* begins;
  const float* gradients;
  const float* weights;
  uint64_t rows;  // of the data
  uint32_t words_of_row;
  uint32_t leaves;
  uint32_t rows_of_leaf;  // of the largest
  uint32_t bins;          // 16, 32, 64, 128 or 256
};

// Enqueues the addition of the level's histograms to `sums`, laid out as PackedRows::PlainHistogram
// has them. Sums are in float and of no fixed order.
void AddArticleHistogram(ArticleKernel kernel, const LevelRows& level, float* sums,
                         cudaStream_t stream);

}  // namespace strata::bench
