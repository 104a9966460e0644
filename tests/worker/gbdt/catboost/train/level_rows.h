// Random rows with columns that trees of tests grow from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/tree/oblivious/grow_column.h"

namespace strata {

enum class Weights { kSame, kSameOrNone, kAny };

struct LevelRows {
  std::vector<std::vector<uint8_t>> bins;  // of each column
  std::vector<GrowColumn> columns;
  size_t outputs = 0;
  std::vector<double> gradients;
  std::vector<double> weights;
};

// Columns of few splits and of many; some ask for values.
inline LevelRows MakeLevelRows(uint64_t seed, size_t count, size_t columns, size_t outputs,
                               Weights weights) {
  std::mt19937_64 random(seed);
  LevelRows made;
  made.outputs = outputs;
  made.bins.resize(columns);
  for (size_t c = 0; c < columns; ++c) {
    const size_t splits = c % 4 == 0 ? 255 : 1 + random() % 20;
    for (size_t row = 0; row < count; ++row) {
      made.bins[c].push_back(static_cast<uint8_t>(random() % (splits + 1)));
    }
    made.columns.push_back({.bins = made.bins[c], .splits = splits, .is_value = c % 3 == 1});
  }
  for (size_t i = 0; i < count * outputs; ++i) {
    made.gradients.push_back(static_cast<double>(random() % 2000) / 700 - 1.3);
  }
  for (size_t row = 0; row < count; ++row) {
    double weight = 0.7;
    if (weights == Weights::kSameOrNone && random() % 3 == 0) weight = 0;
    if (weights == Weights::kAny) weight = static_cast<double>(random() % 5) / 3;
    made.weights.push_back(weight);
    for (size_t k = 0; k < outputs; ++k) made.gradients[k * count + row] *= weight;
  }
  return made;
}

}  // namespace strata
