// What losses of several classes are for all rows. Arrays of raw values, probabilities and
// gradients have one number a row and output, at output * rows + row.
#pragma once

#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

// The weighted mean of the rows' losses. The loss IsMultiClass, here and below.
double MeanClassLoss(FitLoss loss, const FitRows& rows, std::span<const double> raw,
                     WorkPool& pool);

// The share of the weights whose label has the largest raw value, of equal ones the first.
double ClassAccuracy(const FitRows& rows, std::span<const double> raw, WorkPool& pool);

std::vector<double> ClassProbabilities(FitLoss loss, const FitRows& rows,
                                       std::span<const double> raw, WorkPool& pool);

// First derivatives of minus the loss, times the rows' weights.
void DeriveClasses(FitLoss loss, const FitRows& rows, std::span<const double> raw, WorkPool& pool,
                   std::span<double> gradients);

}  // namespace strata
