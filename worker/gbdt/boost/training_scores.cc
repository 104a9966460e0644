#include "worker/gbdt/boost/training_scores.h"

#include <optional>
#include <utility>

#include "worker/gbdt/boost/engine_scores.h"
#include "worker/gbdt/boost/host_scores.h"

namespace strata {

Result<std::unique_ptr<TrainingScores>> MakeTrainingScores(const RoundParts& parts,
                                                           DataScores start, DataMetrics metrics) {
  const std::optional<OwnLoss> loss = parts.objective.own_loss();
  ScoreEngine* const engine = parts.engine.score_engine();
  if (loss.has_value() && engine != nullptr) {
    STRATA_ASSIGN(const bool keeps, engine->KeepScores({.loss = *loss,
                                                        .weights = parts.data.weights,
                                                        .quantise = parts.quantise,
                                                        .fixed_scores = parts.fixed_scores},
                                                       start.all()));
    if (keeps)
      return std::unique_ptr<TrainingScores>(std::make_unique<EngineScores>(
          *engine, parts.sampler, start.all().size(), std::move(metrics)));
  }
  return std::unique_ptr<TrainingScores>(
      std::make_unique<HostScores>(parts, std::move(start), std::move(metrics)));
}

}  // namespace strata
