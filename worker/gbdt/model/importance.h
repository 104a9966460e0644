// How much each feature counts in a model.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/gbdt/model/tree_model.h"

namespace strata {

enum class ImportanceKind : uint8_t {
  kSplit,  // how many nodes test it
  kGain,   // the sum of what their splits gained
};

// By feature. Splits that gained nothing do not count (nor with LightGBM).
std::vector<double> FeatureImportances(const TreeModel& model, ImportanceKind kind);

}  // namespace strata
