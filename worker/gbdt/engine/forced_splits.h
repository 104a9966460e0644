// Forced splits from LightGBM's JSON (forcedsplits_filename).
#pragma once

#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/grower/grower.h"
#include "worker/gbdt/parameters/growth_parameters.h"

namespace strata {

// {"feature": 3, "threshold": 1.5, "left": {...}, "right": {...}}, the children as their parent, or
// absent; features by their numbers of all, categories as thresholds. `shapes`: RuledShapes.
// kInvalid: what stands there instead, a feature that cannot be split, more splits than num_leaves
// or more levels than max_depth allow, or features that interaction_constraints keeps apart.
Result<std::vector<ForcedSplit>> ReadForcedSplits(std::string_view json, const GrowthParameters& p,
                                                  const FeatureBinning& features,
                                                  std::span<const FeatureShape> shapes);

// Warns of forced splits that are not made, of each once. One thread.
class UnmadeSplits {
 public:
  explicit UnmadeSplits(std::vector<ForcedSplit> splits) : splits_(std::move(splits)) {}
  // Of the split with this number.
  void Warn(size_t forced, std::string_view why);

 private:
  const std::vector<ForcedSplit> splits_;
  std::set<size_t> warned_;
};

}  // namespace strata
