// Predictor: what a model predicts for many rows at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/core/device_choice.h"
#include "kernels/tree/score/gpu_forest.h"
#include "strata/status.h"
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
  size_t iterations = 0;           // 0: all from there on
  PredictionStop early_stop = {};  // its freq counts iterations
  // On a GPU: all kinds but contributions, which are the CPU's everywhere. The numbers are the
  // same.
  DeviceChoice device = {};
};

// On the CPU immutable, for any number of threads; on a GPU for one at a time.
class Predictor {
 public:
  // The model outlives it. kInvalid: an objective that is not known, early stopping with a model
  // whose predictions it would spoil, contributions of a model that does not say how many rows its
  // nodes had. kNotFound, kRefused: as GpuForest; with device = auto the CPU predicts then.
  static Result<Predictor> Make(const TreeModel& model, const PredictOptions& options);

  // Numbers a row.
  size_t outputs() const { return outputs_; }
  // Rounds of the model whose trees predict.
  size_t rounds() const { return end_ - begin_; }
  bool on_gpu() const { return gpu_ != nullptr; }
  // Of all rows of the block: outputs() numbers each, row by row. Scores are sums in the order of
  // the trees, whatever the number of threads. Fails on a GPU alone.
  Status Predict(const SparseRows& block, WorkPool& pool, std::vector<double>* out) const;
  // On a GPU: the same of `rows` rows of an array from one on, as they are in their file.
  Status PredictArray(const ArrayRows& array, uint64_t first, uint64_t rows, WorkPool& pool,
                      std::vector<double>* out) const;

 private:
  Predictor(const TreeModel& model, const PredictOptions& options, size_t begin, size_t end);
  void PredictPiece(const SparseRows& block, size_t begin, size_t end, double* out) const;
  void Scores(std::span<const double> rows, std::vector<uint32_t> which, double* out) const;
  Status OpenGpu();
  Status PredictOnGpu(const ForestRows& rows, WorkPool& pool, std::vector<double>* out) const;
  // Raw scores of some rows become what is asked for.
  void Transform(std::span<double> scores) const;

  const TreeModel* model_;
  PredictOptions options_;
  size_t begin_;  // iterations
  size_t end_;
  FlatTrees trees_;
  PredictionStop stop_;  // its freq counts trees
  OutputTransform transform_;
  std::vector<TreeContributions> contributions_;  // by tree, if they are asked for
  std::unique_ptr<GpuForest> gpu_;
  size_t outputs_ = 0;
  size_t piece_rows_ = 0;
};

}  // namespace strata
