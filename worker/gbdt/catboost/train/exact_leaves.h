// Exact leaves: of the losses that a quantile minimises.
#pragma once

#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/loss_spec.h"
#include "worker/gbdt/catboost/train/oblivious_tree.h"

namespace strata {

// Of each leaf the BestConstant of its rows' labels less their raw values, as floats; 0 without
// rows. Neither regularisation nor weights of rows take part, as in CatBoost
// (private/libs/algo/approx_calcer.cpp of its sources).
std::vector<double> ExactValues(const LossSpec& loss, const FitRows& rows,
                                const ObliviousTree& tree, std::span<const double> raw,
                                WorkPool& pool);

}  // namespace strata
