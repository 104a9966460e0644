// What a split search has to know of a feature, and of a leaf.
#pragma once

#include <cstdint>

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/split/split.h"

namespace strata {

enum class MissingKind : uint8_t { kNone = 0, kZero = 1, kNaN = 2 };  // numbers of model files

struct FeatureShape {
  uint32_t bins = 1;
  MissingKind missing = MissingKind::kNone;  // kNaN: in the last bin; kZero: in default_bin
  uint32_t default_bin = 0;                  // where 0 is
  bool categorical = false;
  int8_t monotone = 0;  // -1, 0 or 1: how the output may go when the value rises
  double penalty = 1;   // its gains are multiplied with
  // The sets of features that may stand together on a path from the root which have it, a bit each.
  // All bits: there are no such sets.
  uint64_t interactions = ~uint64_t{0};
};

// A leaf that may be split.
struct SplitLeaf {
  GradientSums sums;
  int64_t rows = 0;
  double output = 0;  // its own, for path smoothing of its children
  OutputBounds bounds;
};

}  // namespace strata
