// The best split of one feature from its histogram, by LightGBM's rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/fixed_point.h"
#include "kernels/tree/split.h"

namespace strata {

enum class MissingKind : uint8_t { kNone = 0, kZero = 1, kNaN = 2 };  // numbers of model files

// What the search has to know of a feature.
struct FeatureShape {
  uint32_t bins = 1;
  MissingKind missing = MissingKind::kNone;  // kNaN: in the last bin; kZero: in default_bin
  uint32_t default_bin = 0;                  // where 0 is
  bool categorical = false;
  int8_t monotone = 0;  // -1, 0 or 1: how the output may go when the value rises
  double penalty = 1;   // its gains are multiplied with
};

// A leaf that may be split.
struct SplitLeaf {
  GradientSums sums;
  int64_t rows = 0;
  double output = 0;  // its own, for path smoothing of its children
  OutputBounds bounds;
};

// A split; none when gain is not above 0.
struct Split {
  double gain = 0;  // above that of the leaf as it is, less min_gain_to_split
  int32_t feature = -1;
  uint32_t threshold = 0;    // bins up to it go left
  bool default_left = true;  // where missing values go
  bool categorical = false;
  std::vector<uint32_t> left_bins;  // categorical: the bins that go left
  GradientSums left;
  GradientSums right;
  double left_output = 0;
  double right_output = 0;
  int8_t monotone = 0;

  bool exists() const { return gain > 0; }
};

// The better one by gain, then by the smaller feature: which of equal splits wins must not depend
// on the order in which they are found.
bool IsBetter(const Split& a, const Split& b);

// The best split of a feature whose histogram is given; `random_bin`, if not negative, is the only
// threshold tried (extra trees). Any number of threads.
Split FindBestSplit(const FeatureShape& shape, int32_t feature,
                    std::span<const GradientSums> histogram, const SplitLeaf& leaf,
                    const GradientUnits& units, const SplitRules& rules, int64_t random_bin = -1);

}  // namespace strata
