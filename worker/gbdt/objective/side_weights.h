// What rows with and without a class weigh, as is_unbalance and scale_pos_weight say.
#pragma once

#include "kernels/tree/gradient/losses.h"
#include "worker/gbdt/parameters/objective_parameters.h"

namespace strata {

// `positives` of `rows` rows have the class. With is_unbalance the rarer side weighs as much as the
// other one; where one side has no row, both weigh 1.
loss::SideWeights SideWeightsOf(const ObjectiveParameters& parameters, double positives,
                                double rows);

}  // namespace strata
