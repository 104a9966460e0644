// GpuOblivious: an oblivious tree that grows in a GPU's memory, split after split as the host
// chooses them, or without it. Scores and leaves are those of the CPU's grower, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "kernels/tree/oblivious/row_draw.h"
#include "kernels/tree/oblivious/row_losses.h"
#include "kernels/tree/oblivious/row_rounding.h"
#include "strata/status.h"

namespace strata {

// These gradients and weights are what a tree grows from. Each output has those of all rows.
struct ObliviousGradients {
  std::span<const Row32> rows;  // output * rows + row; sizes up to 2^30
  std::span<const GradientUnits> units;
  bool has_unit_weights = false;  // weights are 0 and 1
};

// Rows whose raw values stay in the GPU's memory while a model is trained. The loss has one output.
struct TrainedRows {
  std::span<const float> labels;
  std::span<const float> weights;
  WeightUnit weight_unit;
  ObliviousLoss loss;
  double start = 0;  // the raw value of all rows
};

// These are sums of each leaf's rows: of their first derivatives, and of minus the second ones,
// times their weights.
struct LeafSums {
  std::vector<double> first;
  std::vector<double> second;
};

// A split that a tree has taken, and how many rows each leaf has after it.
struct GrownLevel {
  GrowSplit split;
  std::vector<uint32_t> counts;
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
  // Copies the rows, for the calls that take them; once.
  virtual Status SetRows(const TrainedRows& rows) = 0;
  // Like Begin, with the derivatives of the loss at the rows' raw values as gradients, and the
  // rows' weights.
  virtual Status BeginFromRows() = 0;
  // The same, with the factors of a sample. False: they are all 0.
  virtual Result<bool> BeginFromSample(const RowDraw& sample) = 0;
  // Another sample of the same rows, from the next level on.
  virtual Result<bool> Resample(const RowDraw& sample) = 0;
  // More columns, after those that are there. Fixed ones, the first of a tree, stay in memory for
  // the next tree that gets the same ones.
  virtual Status AddColumns(std::span<const GrowColumn> columns, bool are_fixed) = 0;
  // Others of the same rows, from the next level on.
  virtual Status SetGradients(const ObliviousGradients& gradients) = 0;
  // Writes what each split would make of the level. It is called once a level.
  virtual Status Score(LevelScores* scores) = 0;
  // Of a column, after Score, the histograms of all leaves (leaf * (splits + 1) + bin), and their
  // units. There is one output.
  virtual Status Histograms(size_t column, std::vector<GradientSums>* histograms,
                            GradientUnits* units) = 0;
  // Parts all leaves, and counts the rows of each.
  virtual Status Split(const GrowSplit& split, std::vector<uint32_t>* counts) = 0;
  // Splits leaves until the last level, each time by the largest score, of equal ones by the first
  // column's first, as long as a score is a number. Columns have all come at once.
  virtual Status Grow(std::vector<GrownLevel>* levels) = 0;
  // The tree has the first splits, without the given one, whose bit goes out of the numbers of
  // leaves.
  virtual Status EndTree(size_t splits, std::optional<size_t> without) = 0;
  // The leaf of each row.
  virtual Status Leaves(std::span<uint16_t> leaves) = 0;

  // --- After SetRows. Sums have the bits of the CPU's; of losses one that is not finite makes the
  // sum infinite. ---

  // Of the gradients at the rows' raw values.
  virtual Result<double> SumSquares() = 0;
  virtual Result<double> SumSizes() = 0;
  // Of the rows' losses, times their weights.
  virtual Result<double> SumLosses() = 0;
  virtual Result<std::vector<double>> SumLeafWeights() = 0;
  // At the values that are tried: the rows' raw values, and steps that were kept.
  virtual Result<LeafSums> SumLeaves() = 0;
  // Adds the step of each row's leaf to the values that are tried.
  virtual Status TryStep(std::span<const double> step) = 0;
  // Like SumLosses, after the last try.
  virtual Result<double> SumTriedLosses() = 0;
  // Further tries begin where the last one went.
  virtual void KeepStep() = 0;
  // Adds the value of each row's leaf to the raw values, from which tries begin again.
  virtual Status AddValues(std::span<const double> values) = 0;
};

}  // namespace strata
