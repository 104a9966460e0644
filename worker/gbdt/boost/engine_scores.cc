#include "worker/gbdt/boost/engine_scores.h"

#include <utility>

namespace strata {

EngineScores::EngineScores(ScoreEngine& engine, const RowSampler& sampler, size_t scores,
                           DataMetrics metrics)
    : engine_(engine), sampler_(sampler), scores_(scores), metrics_(std::move(metrics)) {
  // Where scores lie on several GPUs, this takes memory for a copy of them all.
  metrics_.MoveToGpu(engine.gpu(), [&] { return engine.ScoresOnGpu().status(); });
}

Status EngineScores::StartRound(uint64_t round) {
  return engine_.StartRound(round, sampler_.OnGpu(round));
}

Result<EngineTree> EngineScores::Grow(size_t k, uint64_t tree_number) {
  return engine_.GrowFromScores(k, tree_number);
}

Result<std::vector<double>> EngineScores::RenewedOutputs(size_t k, const GrownTree& tree) {
  return engine_.RenewLeaves(k, tree);
}

Result<std::vector<ExactSlopes>> EngineScores::SumsOfLeaves(size_t k, const GrownTree& tree) {
  return engine_.SumLeaves(k, tree);
}

Status EngineScores::AddGrown(size_t k, const GrownTree& tree, std::span<const double> values) {
  return AddTree(k, tree, values);
}

Status EngineScores::AddTree(size_t k, const GrownTree& tree, std::span<const double> values) {
  return engine_.AddToScores(k, tree, values);
}

Result<std::span<const double>> EngineScores::Fetch(std::vector<double>* made) const {
  made->resize(scores_);
  STRATA_TRY(engine_.FetchScores(*made));
  return std::span<const double>(*made);
}

Result<std::vector<MetricValue>> EngineScores::Measure(double divisor) const {
  if (metrics_.on_gpu()) {
    STRATA_ASSIGN(const double* const scores, engine_.ScoresOnGpu());
    return metrics_.MeasureOnGpu(scores, scores_, divisor);
  }
  std::vector<double> made;
  STRATA_ASSIGN(const std::span<const double> scores, Fetch(&made));
  return metrics_.Measure(scores, divisor);
}

}  // namespace strata
