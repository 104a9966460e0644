#include "worker/ctr/best_evaluation.h"

#include <fmt/format.h>

#include <cmath>

namespace strata {

const char* BestByName(BestBy by) {
  switch (by) {
    case BestBy::kAuc:
      return "auc";
    case BestBy::kLogloss:
      return "logloss";
    case BestBy::kGauc:
      return "gauc";
    case BestBy::kMse:
      return "mse";
  }
  return "";
}

std::optional<BestBy> BestByOf(std::string_view name) {
  for (const BestBy by : {BestBy::kAuc, BestBy::kLogloss, BestBy::kGauc, BestBy::kMse}) {
    if (name == BestByName(by)) return by;
  }
  return std::nullopt;
}

double ScoreOf(const Metrics& metrics, BestBy by) {
  switch (by) {
    case BestBy::kAuc:
      return metrics.auc;
    case BestBy::kLogloss:
      return -metrics.logloss;
    case BestBy::kGauc:
      return metrics.gauc;
    case BestBy::kMse:
      return -metrics.mse;
  }
  return 0;
}

Result<bool> BestEvaluation::Add(const ClickEvaluation& evaluation) {
  const double score = ScoreOf(evaluation.metrics, by_);
  if (!std::isfinite(score)) {
    return Failed(fmt::format(
        "train.best_by = \"{}\" cannot be computed of the {} samples of data.test: expected rows "
        "that weigh more than 0{}",
        BestByName(by_), evaluation.metrics.samples,
        by_ == BestBy::kLogloss || by_ == BestBy::kMse ? ""
        : by_ == BestBy::kAuc ? ", of both labels; or use train.best_by = \"logloss\""
                              : ", of both labels in one group; or use another train.best_by"));
  }
  const bool is_best = !state_.has_value() ||
                       state_->best.metrics.samples != evaluation.metrics.samples ||
                       score > ScoreOf(state_->best.metrics, by_);
  if (is_best) {
    state_ = {.by = by_, .best = evaluation, .since_best = 0, .evaluated_steps = evaluation.steps};
  } else {
    ++state_->since_best;
    state_->evaluated_steps = evaluation.steps;
  }
  return is_best;
}

bool BestEvaluation::Resume(const EvaluationState& state) {
  state_.reset();
  if (state.by != by_) return false;
  state_ = state;
  return true;
}

}  // namespace strata
