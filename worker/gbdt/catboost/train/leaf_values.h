// The values of a tree's leaves, as CatBoost estimates them. Raw values are those of an output with
// all rows, one output after another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/oblivious_tree.h"

namespace strata {

// The weighted mean of the rows' losses, or for RMSE its root, from the sum of losses times
// weights.
double LossOfSum(const LossSpec& loss, double sum, const FitRows& rows);

// The weighted mean of the rows' losses, or for RMSE its root; not finite where a row's is not.
double MeanLoss(const LossSpec& loss, const FitRows& rows, std::span<const double> raw,
                WorkPool& pool);

// Of each row and output (output * rows + row) the first derivative of minus the loss. `weights`
// gets 1 or, of Newton scores, minus the second derivative. Both are times the row's weight.
void DeriveRows(const FitParameters& parameters, const FitRows& rows, std::span<const double> raw,
                WorkPool& pool, std::span<double> gradients, std::span<double> weights);

// Adds the values of the rows' leaves (leaf * outputs + output) to the raw values (output * rows +
// row).
void AddLeafValues(std::span<const double> values, std::span<const uint16_t> leaves, WorkPool& pool,
                   std::span<double> raw);

// Of each leaf the sum of its rows' weights.
std::vector<double> LeafWeights(const FitRows& rows, const ObliviousTree& tree, WorkPool& pool);

// Of each leaf and output (leaf * outputs + output) the step from the rows' raw values, before the
// learning rate, as StepLeaves makes it. `l2` is added to the weights. Exact is one step.
Result<std::vector<double>> LeafValues(const FitParameters& parameters, size_t iterations,
                                       double l2, const FitRows& rows, const ObliviousTree& tree,
                                       std::span<const double> raw, WorkPool& pool);

}  // namespace strata
