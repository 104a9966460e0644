// What CatBoost reads of a trained model besides its trees.
#pragma once

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/class_labels.h"
#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

// Sets the model's loss, classes, outputs and model_info, which holds the first two as CatBoost's
// files have them.
void DescribeModel(const LossSpec& loss, const ClassLabels& classes, CatBoostModel* model);

}  // namespace strata
