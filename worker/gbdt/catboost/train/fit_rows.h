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
  double weight_sum = 0;  // SumOfWeights(weights)
  ClassLabels classes;
  // By category of the model the number of each row's value; of those without statistics empty.
  std::vector<std::vector<uint32_t>> categories;

  size_t rows() const { return labels.size(); }
  std::span<const uint8_t> Column(size_t column) const {
    return std::span(bins).subspan(column * rows(), rows());
  }
};

// How many rows a thread goes over at a time. It depends on the rows alone, so that sums of pieces
// that are added in order have the same bits for any number of threads.
inline size_t FitPiece(size_t rows) {
  constexpr size_t kPiecesMax = 64;
  constexpr size_t kRowsMin = 8192;
  return std::max(kRowsMin, (rows + kPiecesMax - 1) / kPiecesMax);
}

// The sum in the order in which pieces of rows are added up.
inline double SumOfWeights(std::span<const float> weights) {
  const size_t piece = FitPiece(weights.size());
  double sum = 0;
  for (size_t begin = 0; begin < weights.size(); begin += piece) {
    double of_piece = 0;
    for (const float weight : weights.subspan(begin, std::min(piece, weights.size() - begin))) {
      of_piece += weight;
    }
    sum += of_piece;
  }
  return sum;
}

}  // namespace strata
