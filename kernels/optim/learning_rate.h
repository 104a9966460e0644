// The learning rate of a step.
#pragma once

#include <cstdint>

#include "strata/optimizer_spec.h"

namespace strata {

// The learning rate at time `step` (1 or more), a pure function of the two: whoever applies an
// update, on whatever machine, uses the same bits. With base = learning_rate:
//
//   step <= warmup_steps                base step / warmup_steps
//   no decay, or step <= decay_start    base
//   step <= decay_start + decay_steps   max(end_learning_rate, base x^decay_power),
//                                       x = (decay_start + decay_steps - step) / decay_steps
//   afterwards                          end_learning_rate
//
// These are HugeCTR's warm-up and polynomial decay (LearningRateScheduler).
double LearningRateAt(const OptimizerSpec& spec, uint64_t step);

}  // namespace strata
