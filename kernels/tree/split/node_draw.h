// What is random in a node of a tree: hashes of the seed, the tree and the node's path from the
// root, and of nothing else, so that nodes may be searched in any order, anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/split/feature_shape.h"
#include "strata/host_device.h"

namespace strata {

// Paths, as hashes.
STRATA_HD uint64_t RootPath(uint64_t tree_number) { return Mix64(tree_number); }
STRATA_HD uint64_t ChildPath(uint64_t parent, bool is_left) {
  return Mix64(parent ^ (is_left ? 0x9e3779b97f4a7c15ULL : 0xc2b2ae3d27d4eb4fULL));
}

// Seeds of what is drawn in a node: its features, its thresholds.
STRATA_HD uint64_t NodeSeed(uint64_t seed, uint64_t path) { return Mix64(Mix64(seed) ^ path); }

// How many of so many features are drawn: at least one.
STRATA_HD size_t ShareOfFeatures(size_t features, double share) {
  const auto wanted = static_cast<size_t>(static_cast<double>(features) * share + 0.5);
  if (wanted > features) return features;
  return wanted == 0 && features > 0 ? 1 : wanted;
}

// A feature's place in the order whose first ones are drawn. No two are the same.
STRATA_HD uint64_t FeatureDraw(uint64_t seed, uint64_t feature) {
  return Mix64(seed ^ Mix64(feature));
}

// The bin that an extremely randomised tree tries of a feature of more than two: numbers up to it
// go left, or this category, or (of many categories) a prefix of this length less one, modulo.
STRATA_HD int64_t RandomBin(uint64_t seed, uint64_t feature, const FeatureShape& shape) {
  if (shape.bins <= 2) return -1;
  const auto bin =
      static_cast<int64_t>(RowUniform(seed, feature) * static_cast<double>(shape.bins - 1));
  return shape.categorical ? bin + 1 : bin;
}

}  // namespace strata
