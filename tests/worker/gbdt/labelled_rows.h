// Data sets of labels alone, for the tests of objectives and metrics.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "worker/gbdt/data/tree_dataset.h"

namespace strata {

inline TreeDataset LabelledRows(std::vector<float> labels, std::vector<float> weights = {},
                                std::vector<size_t> query_begins = {}) {
  TreeDataset data;
  data.labels = std::move(labels);
  data.weights = std::move(weights);
  data.query_begins = std::move(query_begins);
  return data;
}

// Numbers in [low, high), the same for the same seed.
inline std::vector<double> RandomNumbers(size_t count, double low, double high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> numbers(count);
  for (double& number : numbers)
    number = low + (high - low) * (static_cast<double>(random()) * 0x1p-32);
  return numbers;
}

inline std::vector<float> RandomFloats(size_t count, double low, double high, uint32_t seed) {
  const std::vector<double> numbers = RandomNumbers(count, low, high, seed);
  return {numbers.begin(), numbers.end()};
}

// What a document at a place of a ranking counts, the first one 1.
inline double PlainDiscount(size_t place) {
  return 1 / std::log2(static_cast<double>(place) + 2.0);
}

inline std::unique_ptr<WorkPool> PoolOf(int threads) {
  return std::move(*WorkPool::Start("test", threads));
}

}  // namespace strata
