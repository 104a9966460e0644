// FitRows: the rows of a training with their numbers as bins.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/gbdt/catboost/train/class_labels.h"

namespace strata {

struct FitRows {
  std::vector<uint8_t> bins;  // column after column of a model's SplitBins
  std::vector<float> labels;  // numbers of outputs where they are classes
  std::vector<float> weights;
  double weight_sum = 0;  // of the weights, by SumRows
  ClassLabels classes;
  // By category of the model the number of each row's value; of those without statistics empty.
  std::vector<std::vector<uint32_t>> categories;

  size_t rows() const { return labels.size(); }
  std::span<const uint8_t> Column(size_t column) const {
    return std::span(bins).subspan(column * rows(), rows());
  }
};

// How many rows a thread goes over at a time. There are so few pieces that each one may have sums
// of its own for all leaves.
inline size_t FitPiece(size_t rows) {
  constexpr size_t kPiecesMax = 64;
  constexpr size_t kRowsMin = 8192;
  return std::max(kRowsMin, (rows + kPiecesMax - 1) / kPiecesMax);
}

}  // namespace strata
