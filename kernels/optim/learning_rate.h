// The learning rate of a step.
#pragma once

#include <cstdint>

#include "strata/optimizer_spec.h"

namespace strata {

// The learning rate at time `step` (1 or more), as strata/optimizer_spec.h says: a pure function of
// the two, so that whoever applies an update, on whatever machine, uses the same bits.
double LearningRateAt(const OptimizerSpec& spec, uint64_t step);

}  // namespace strata
