// Predictor: what a model predicts for many rows at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/work_pool.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/predict/contributions.h"
#include "worker/gbdt/predict/flat_trees.h"

namespace strata {

enum class PredictionKind : uint8_t {
  kTransformed,    // what the objective predicts: probabilities, counts
  kRaw,            // sums of leaves
  kLeaves,         // the number of the leaf that each tree leads to
  kContributions,  // of each feature to the raw score, then what the model expects; class by class
};

struct PredictOptions {
  PredictionKind kind = PredictionKind::kTransformed;
  size_t start_iteration = 0;
  size_t iterations = 0;  // 0: all from there on
  // A row takes no more trees once its score (a binary model's twice the size of it, else the best
  // above the second) is larger than the margin, looked at every so many iterations; 0: never.
  size_t early_stop_freq = 0;
  double early_stop_margin = 10;
};

// Immutable; any number of threads.
class Predictor {
 public:
  // The model outlives it. kInvalid: an objective that is not known, early stopping with a model
  // whose predictions it would spoil, contributions of a model that does not say how many rows its
  // nodes had.
  static Result<Predictor> Make(const TreeModel& model, const PredictOptions& options);

  // Numbers a row.
  size_t outputs() const { return outputs_; }
  // Of all rows of the block: outputs() numbers each, row by row. Scores are sums in the order of
  // the trees, whatever the number of threads.
  void Predict(const SparseRows& block, WorkPool& pool, std::vector<double>* out) const;

 private:
  Predictor(const TreeModel& model, const PredictOptions& options, size_t begin, size_t end);
  void PredictPiece(const SparseRows& block, size_t begin, size_t end, double* out) const;
  void Scores(std::span<const double> rows, std::vector<uint32_t> which, double* out) const;
  bool IsSure(const double* scores) const;

  const TreeModel* model_;
  PredictOptions options_;
  size_t begin_;  // iterations
  size_t end_;
  FlatTrees trees_;
  OutputTransform transform_;
  std::vector<TreeContributions> contributions_;  // by tree, if they are asked for
  size_t outputs_ = 0;
  size_t piece_rows_ = 0;
};

}  // namespace strata
