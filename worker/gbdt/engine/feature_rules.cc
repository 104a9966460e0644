#include "worker/gbdt/engine/feature_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker/gbdt/parameters/interaction_sets.h"

namespace strata {
namespace {

Status CheckLength(const char* name, size_t found, size_t features) {
  if (found == 0 || found == features) return {};
  return Invalid(fmt::format("{}: expected a number for each of the {} features, found {}", name,
                             features, found));
}

Status CheckMonotone(const GrowthParameters& p, const FeatureBinning& features) {
  for (size_t f = 0; f < p.monotone_constraints.size(); ++f) {
    if (p.monotone_constraints[f] == 0 || !features.mappers[f].shape().categorical) continue;
    return Invalid(
        fmt::format("monotone_constraints: feature {} ({}) is categorical, which has no order: "
                    "expected 0, found {}",
                    f, features.names[f], p.monotone_constraints[f]));
  }
  return {};
}

// Of each feature, the sets it is in.
Result<std::vector<uint64_t>> SetsOfFeatures(const GrowthParameters& p, size_t features) {
  STRATA_ASSIGN(const auto sets, InteractionSets(p.interaction_constraints));
  if (sets.empty()) return std::vector<uint64_t>(features, ~uint64_t{0});
  std::vector<uint64_t> of_feature(features, 0);
  for (size_t i = 0; i < sets.size(); ++i) {
    for (const int64_t f : sets[i]) {
      if (static_cast<uint64_t>(f) >= features) {
        return Invalid(fmt::format(
            "interaction_constraints: expected numbers of features from 0 to {}, found {}",
            static_cast<int64_t>(features) - 1, f));
      }
      of_feature[static_cast<size_t>(f)] |= uint64_t{1} << i;
    }
  }
  return of_feature;
}

}  // namespace

Status CheckFeatureRules(const GrowthParameters& p, size_t features) {
  STRATA_TRY(CheckLength("monotone_constraints", p.monotone_constraints.size(), features));
  STRATA_TRY(CheckLength("feature_contri", p.feature_contri.size(), features));
  return SetsOfFeatures(p, features).status();
}

Result<std::vector<FeatureShape>> RuledShapes(const GrowthParameters& p,
                                              const FeatureBinning& features) {
  STRATA_TRY(CheckFeatureRules(p, features.names.size()));
  STRATA_TRY(CheckMonotone(p, features));
  STRATA_ASSIGN(const std::vector<uint64_t> sets, SetsOfFeatures(p, features.names.size()));
  std::vector<FeatureShape> shapes = features.shapes;
  for (size_t used = 0; used < shapes.size(); ++used) {
    const size_t f = features.used[used];
    if (!p.monotone_constraints.empty()) {
      shapes[used].monotone = static_cast<int8_t>(p.monotone_constraints[f]);
    }
    if (!p.feature_contri.empty()) shapes[used].penalty = std::max(0.0, p.feature_contri[f]);
    shapes[used].interactions = sets[f];
  }
  return shapes;
}

}  // namespace strata
