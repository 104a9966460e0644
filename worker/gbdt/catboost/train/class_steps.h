// Steps of leaves for losses of several classes.
#pragma once

#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/oblivious_tree.h"

namespace strata {

// Of each leaf and output (leaf * outputs + output) the step from the raw values (output * rows +
// row). Newton solves (-H + l2 * I) x = g with the sums of the leaf's second and first derivatives;
// H is a matrix for MultiClass, and diagonal for MultiClassOneVsAll. Gradient divides g by the sum
// of weights and l2.
std::vector<double> ClassSteps(const FitParameters& parameters, double l2, const FitRows& rows,
                               const ObliviousTree& tree, std::span<const double> raw,
                               WorkPool& pool);

}  // namespace strata
