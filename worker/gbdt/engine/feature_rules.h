// What parameters say of features one by one, as those that grow trees have it.
#pragma once

#include <vector>

#include "kernels/tree/grow/growth.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/parameters/growth_parameters.h"

namespace strata {

// kInvalid: lengths and numbers of monotone_constraints, feature_contri and interaction_constraints
// that do not fit so many features.
Status CheckFeatureRules(const GrowthParameters& growth, size_t features);

// The shapes of used features with monotone_constraints, feature_contri and
// interaction_constraints. kInvalid: those do not fit the data's features.
Result<std::vector<FeatureShape>> RuledShapes(const GrowthParameters& growth,
                                              const FeatureBinning& features);

inline GrowPolicy GrowPolicyOf(const GrowthParameters& growth) {
  return growth.grow_policy == "depthwise" ? GrowPolicy::kDepthWise : GrowPolicy::kLossGuide;
}

}  // namespace strata
