// EngineScores: training scores where the trees grow. The host sees trees alone.
#pragma once

#include "worker/gbdt/boost/training_scores.h"
#include "worker/gbdt/engine/score_engine.h"

namespace strata {

class EngineScores : public TrainingScores {
 public:
  // Of `scores` numbers, which the engine keeps already; it and the sampler outlive this. Metrics
  // move to the engine's GPU if its memory allows it.
  EngineScores(ScoreEngine& engine, const RowSampler& sampler, size_t scores, DataMetrics metrics);

  Status StartRound(uint64_t round) override;
  Result<EngineTree> Grow(size_t k, uint64_t tree_number) override;
  Result<std::vector<double>> RenewedOutputs(size_t k, const GrownTree& tree) override;
  Result<std::vector<ExactSlopes>> SumsOfLeaves(size_t k, const GrownTree& tree) override;
  Status AddGrown(size_t k, const GrownTree& tree, std::span<const double> values) override;
  Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) override;
  Result<std::span<const double>> Fetch(std::vector<double>* made) const override;
  Result<std::vector<MetricValue>> Measure(double divisor) const override;

 private:
  ScoreEngine& engine_;
  const RowSampler& sampler_;
  const size_t scores_;
  DataMetrics metrics_;
};

}  // namespace strata
