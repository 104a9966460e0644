#include "worker/ctr/training_run.h"

#include <fmt/format.h>

#include <cmath>

namespace strata {

Status CheckDense(const TrainerState& state, size_t parameters, size_t numbers) {
  if (state.dense.size() == parameters && state.dense_state.size() == numbers) return {};
  return Corrupt(fmt::format(
      "the training state has {} dense parameters with {} numbers of optimizer state; the model "
      "has {} with {}",
      state.dense.size(), state.dense_state.size(), parameters, numbers));
}

Status CheckLoss(uint64_t step, double loss) {
  if (std::isfinite(loss)) return {};
  return Failed(
      fmt::format("step {}: the loss is {}: the model diverged; use a smaller "
                  "sparse.learning_rate or dense.learning_rate",
                  step, loss));
}

}  // namespace strata
