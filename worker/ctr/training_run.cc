#include "worker/ctr/training_run.h"

#include <fmt/format.h>

namespace strata {

Status CheckDense(const TrainerState& state, size_t parameters, size_t numbers) {
  if (state.dense.size() == parameters && state.dense_state.size() == numbers) return {};
  return Corrupt(fmt::format(
      "the training state has {} dense parameters with {} numbers of optimizer state; the model "
      "has {} with {}",
      state.dense.size(), state.dense_state.size(), parameters, numbers));
}

}  // namespace strata
