// GpuOblivious: an oblivious tree that grows in a GPU's memory, split after split as the host
// chooses them. Scores and leaves are those of the CPU's grower, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "strata/status.h"

namespace strata {

// What a tree is grown from: of each output the gradients and weights of all rows.
struct ObliviousGradients {
  std::span<const Row32> rows;  // output * rows + row; sizes up to 2^30
  std::span<const GradientUnits> units;
  bool has_unit_weights = false;  // weights are 0 and 1
};

// One thread at a time. Any call may fail as a GPU does, and with kRefused where there is too
// little memory.
class GpuOblivious {
 public:
  virtual ~GpuOblivious() = default;
  // For trees of so many rows. kNotFound: no such GPU, or a build without CUDA.
  static Result<std::unique_ptr<GpuOblivious>> Open(int device, size_t rows, const ScoreRule& rule);

  // A tree of one leaf, without columns.
  virtual Status Begin(const ObliviousGradients& gradients) = 0;
  // More columns, after those that are there. Fixed ones, the first of a tree, stay in memory for
  // the next tree that gets the same ones.
  virtual Status AddColumns(std::span<const GrowColumn> columns, bool are_fixed) = 0;
  // Others of the same rows, from the next level on.
  virtual Status SetGradients(const ObliviousGradients& gradients) = 0;
  // What each split would make of the level; once a level.
  virtual Status Score(LevelScores* scores) = 0;
  // Of a column, after Score, the histograms of all leaves (leaf * (splits + 1) + bin). There is
  // one output.
  virtual Status Histograms(size_t column, std::vector<GradientSums>* histograms) = 0;
  // Parts all leaves, and counts the rows of each.
  virtual Status Split(const GrowSplit& split, std::vector<uint32_t>* counts) = 0;
  // The leaf of each row; without the bit of a split, if one is given.
  virtual Status Leaves(std::optional<size_t> without, std::span<uint16_t> leaves) = 0;
};

}  // namespace strata
