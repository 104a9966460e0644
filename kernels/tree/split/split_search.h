// The best split of one feature from its histogram, by LightGBM's rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/split/feature_shape.h"
#include "kernels/tree/split/split.h"

namespace strata {

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
// threshold tried (extra trees). `bounds`, unless empty, are of rows that have a bin of this
// numeric feature, in place of the leaf's: a child keeps to those of all its bins, and there
// is no split where they exclude each other. `gains`, unless null, becomes whether any split would
// gain, excluded ones among them. Any number of threads.
Split FindBestSplit(const FeatureShape& shape, int32_t feature,
                    std::span<const GradientSums> histogram, const SplitLeaf& leaf,
                    const GradientUnits& units, const SplitRules& rules, int64_t random_bin = -1,
                    std::span<const OutputBounds> bounds = {}, bool* gains = nullptr);

// Whether a split at `bin` sends bin `b` left: numbers up to it and missing values, or the
// category.
inline bool IsLeftOfBin(const FeatureShape& shape, uint32_t bin, uint32_t b) {
  if (shape.categorical) return b == bin;
  return b <= bin || (shape.missing == MissingKind::kNaN && b + 1 == shape.bins) ||
         (shape.missing == MissingKind::kZero && b == shape.default_bin);
}

// The split at a given bin of a feature (numbers up to it go left with missing values, or this
// category), if it gains anything: a forced split. It minds neither the least rows and hessians of
// a side nor monotone constraints, nor the feature's penalty (LightGBM's GatherInfoForThreshold).
Split SplitAtBin(const FeatureShape& shape, int32_t feature,
                 std::span<const GradientSums> histogram, const SplitLeaf& leaf,
                 const GradientUnits& units, const SplitRules& rules, uint32_t bin);

}  // namespace strata
