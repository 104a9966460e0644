// BestEvaluation: which evaluation of a training run is the best so far, and whether it is time to
// end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "strata/status.h"
#include "worker/ctr/metrics.h"

namespace strata {

// The metric that says which of two evaluations is better: a larger AUC or mean of the groups'
// AUCs, or a smaller logloss or mean squared error.
enum class BestBy : uint8_t { kAuc, kLogloss, kGauc, kMse };
const char* BestByName(BestBy by);  // "auc", "logloss", "gauc", "mse"
std::optional<BestBy> BestByOf(std::string_view name);

// Larger is better, whatever the metric.
double ScoreOf(const Metrics& metrics, BestBy by);

struct ClickEvaluation {
  uint64_t steps = 0;    // of training, done before it
  uint64_t samples = 0;  // that training had gone over, as TrainerState counts them
  Metrics metrics = {};
};

// What a run remembers of its evaluations.
struct EvaluationState {
  BestBy by = BestBy::kAuc;
  ClickEvaluation best = {};
  uint64_t since_best = 0;       // evaluations after the best one
  uint64_t evaluated_steps = 0;  // steps before the newest one
};

// One thread at a time.
class BestEvaluation {
 public:
  // `patience`: evaluations without a better one after which training ends; at least 1.
  BestEvaluation(BestBy by, uint64_t patience) : by_(by), patience_(patience) {}

  // Whether it is the best so far; the first of equal ones is. kFailed: the metric cannot be
  // computed of these samples. One of other samples than the best begins anew.
  Result<bool> Add(const ClickEvaluation& evaluation);

  // Goes on from what another run remembered. False, and nothing is remembered, when that run went
  // by another metric.
  bool Resume(const EvaluationState& state);
  void Forget() { state_.reset(); }

  bool wants_end() const { return state_.has_value() && state_->since_best >= patience_; }
  // Nothing before the first evaluation.
  const std::optional<EvaluationState>& state() const { return state_; }

 private:
  const BestBy by_;
  const uint64_t patience_;
  std::optional<EvaluationState> state_;
};

}  // namespace strata
