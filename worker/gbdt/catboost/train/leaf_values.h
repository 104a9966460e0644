// The values of a tree's leaves, as CatBoost estimates them.
#pragma once

#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/oblivious_tree.h"

namespace strata {

// The weighted mean of the rows' losses, or for RMSE its root.
double MeanLoss(const LossSpec& loss, const FitRows& rows, std::span<const double> raw,
                WorkPool& pool);

// Of each row the first derivative of minus the loss, and in `weights` its weight or, of Newton
// scores, minus the second derivative; both times the row's weight.
void DeriveRows(const FitParameters& parameters, const FitRows& rows, std::span<const double> raw,
                WorkPool& pool, std::span<double> gradients, std::span<double> weights);

// Of each leaf the sum of its rows' weights.
std::vector<double> LeafWeights(const FitRows& rows, const ObliviousTree& tree, WorkPool& pool);

// Of each leaf the step from the rows' raw values, before the learning rate. It is made of so many
// iterations of the leaf method, whose steps are halved until the loss falls where there are
// several and the parameters say so. A halving uses up an iteration. `l2` is added to the weights.
std::vector<double> LeafValues(const FitParameters& parameters, size_t iterations, double l2,
                               const FitRows& rows, const ObliviousTree& tree,
                               std::span<const double> raw, WorkPool& pool);

}  // namespace strata
