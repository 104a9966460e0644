// Synthetic data for trees, written as NumPy arrays, so that all contenders read the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "strata/status.h"

namespace strata::bench {

// Rows of float32, all features drawn from a normal distribution; labels of two classes whose logit
// is a linear part, a sine, and products of some features; or of more, from the lowest logits to
// the highest ones.
struct TreeShape {
  std::string name;
  size_t rows;  // of which one in 21 is for the test
  size_t features;
  int classes = 2;
  size_t query_rows = 0;  // of a query, on average, half as many at least; 0: no queries

  size_t test_rows() const { return rows / 21; }
  size_t train_rows() const { return rows - test_rows(); }
};

// Writes folder/train.npy and folder/test.npy: the label, then the features; and, with queries,
// folder/train.npy.query. The same bytes for the same seed.
Status WriteTreeArrays(const TreeShape& shape, uint64_t seed, const std::string& folder);

}  // namespace strata::bench
