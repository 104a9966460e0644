// A model as C++ source: one function a tree, nothing but the standard library needed.
#pragma once

#include <string>

#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

// Namespace boosted_trees with kFeatures, kOutputs, PredictRaw and Predict, which give what the
// model gives (Predict within the last bits of exp). kInvalid: a tree deeper than 200 nodes, which
// compilers do not take; an objective that is not known.
Result<std::string> WriteModelCpp(const TreeModel& model);

}  // namespace strata
