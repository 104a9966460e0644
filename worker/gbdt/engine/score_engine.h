// ScoreEngine: what an engine can do that keeps the training data's scores where its trees grow:
// gradients are made there, and the host sees trees alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/gradient/exact_sum.h"
#include "kernels/tree/grow/gpu_trees.h"
#include "kernels/tree/grow/grown_tree.h"
#include "strata/status.h"
#include "worker/gbdt/engine/quantise.h"
#include "worker/gbdt/engine/tree_engine.h"
#include "worker/gbdt/objective/objective.h"

namespace strata {

// Rounds whose gradients and scores stay where the trees grow.
struct OwnRounds {
  OwnLoss loss;
  std::span<const float> weights;  // empty: all 1
  QuantiseOptions quantise;
  // Unless empty, gradients are always of these, one of each class.
  std::span<const double> fixed_scores = {};
};

// One thread at a time. Only once KeepScores has been true, what is below it is called.
class ScoreEngine {
 public:
  virtual ~ScoreEngine() = default;

  // The GPU on which other data's scores can be kept up with its trees.
  virtual int gpu() const = 0;
  // Begins to keep scores, which begin as these, class * rows + row. False: there is too little
  // memory for what the loss needs, and they stay where they are.
  virtual Result<bool> KeepScores(const OwnRounds& rounds, std::span<const double> scores) = 0;

  // Gradients of all classes from the scores, and the rows that their trees grow with.
  virtual Status StartRound(uint64_t round, const GpuSample& sample) = 0;
  // A tree of class k, from the round's gradients.
  virtual Result<EngineTree> GrowFromScores(size_t k, uint64_t tree_number) = 0;
  // Of the tree of class k that has just grown: outputs of its leaves as the objective renews them;
  // and the sums of their gradients.
  virtual Result<std::vector<double>> RenewLeaves(size_t k, const GrownTree& tree) = 0;
  virtual Result<std::vector<ExactSlopes>> SumLeaves(size_t k, const GrownTree& tree) = 0;
  // Adds the values of the leaves to the rows in them, of class k.
  virtual Status AddToScores(size_t k, const GrownTree& tree, std::span<const double> values) = 0;
  virtual Status FetchScores(std::span<double> scores) = 0;
  // Those of all rows in the memory of gpu(), good until they change. kRefused: they are not there,
  // and there is too little for a copy.
  virtual Result<const double*> ScoresOnGpu() = 0;
};

}  // namespace strata
