// Weights of classes, by which the rows' own weights are multiplied.
#pragma once

#include <span>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/learn_rows.h"

namespace strata {

// Of each output its weight; empty: all are 1. Balanced weights are the largest sum of a class's
// weights divided by its own sum, or the root of that; the sums are cut to whole numbers, as in
// CatBoost. kInvalid: there are not as many weights as classes, or a sum is 0.
Result<std::vector<float>> ClassWeights(const FitParameters& parameters, const LearnRows& learned);

// Multiplies the rows' weights by those of their outputs, which may be empty. kInvalid: all weights
// are 0 then, or one is not finite.
Status WeighRows(std::span<const float> of_outputs, LearnRows* rows);

}  // namespace strata
