// TrainingScores: the scores of the training data, and what each round makes of them: gradients,
// the rows that it learns from, trees. They are on the host, or where the trees grow.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/gradient/exact_sum.h"
#include "kernels/tree/grow/grown_tree.h"
#include "strata/status.h"
#include "worker/gbdt/boost/data_metrics.h"
#include "worker/gbdt/boost/data_scores.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/engine/quantise.h"
#include "worker/gbdt/engine/tree_engine.h"
#include "worker/gbdt/objective/objective.h"
#include "worker/gbdt/phase_times.h"
#include "worker/gbdt/sampler/row_sampler.h"

namespace strata {

// What rounds are made of; all of it outlives the scores.
struct RoundParts {
  const TreeDataset& data;
  const TreeObjective& objective;
  RowSampler& sampler;
  TreeEngine& engine;
  WorkPool& pool;
  PhaseTimes* phases = nullptr;  // unless null, hears what the time goes to
  QuantiseOptions quantise = {};
  bool renews_from_gradients = false;  // SumsOfLeaves will be called
  // Unless empty, gradients are always of these, one of each class.
  std::span<const double> fixed_scores = {};
};

// One thread at a time. Trees are those of one class, k.
class TrainingScores {
 public:
  virtual ~TrainingScores() = default;

  // Gradients of all classes, and the rows that the round's trees grow with.
  virtual Status StartRound(uint64_t round) = 0;
  // A tree of the round's gradients; `tree_number` seeds what is random. kLost: a rank is.
  virtual Result<EngineTree> Grow(size_t k, uint64_t tree_number) = 0;
  // Of the tree that has just grown: outputs of its leaves as the objective renews them; and the
  // sums of their rows' gradients as they were before they were rounded.
  virtual Result<std::vector<double>> RenewedOutputs(size_t k, const GrownTree& tree) = 0;
  virtual Result<std::vector<ExactSlopes>> SumsOfLeaves(size_t k, const GrownTree& tree) = 0;
  // Adds the values of the leaves to the rows in them: of the tree that has just grown; of any.
  virtual Status AddGrown(size_t k, const GrownTree& tree, std::span<const double> values) = 0;
  virtual Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) = 0;

  // Class * rows + row; `made` holds those that are not on the host.
  virtual Result<std::span<const double>> Fetch(std::vector<double>* made) const = 0;
  // The metrics of the scores divided by `divisor`.
  virtual Result<std::vector<MetricValue>> Measure(double divisor) const = 0;
};

// Scores that begin as `start`, with the training data's metrics. They are where the trees grow if
// the objective's gradients can be made there and the engine takes them; else on the host.
Result<std::unique_ptr<TrainingScores>> MakeTrainingScores(const RoundParts& parts,
                                                           DataScores start, DataMetrics metrics);

}  // namespace strata
