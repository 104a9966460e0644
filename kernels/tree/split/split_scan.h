// ThresholdScan: the gains of all thresholds of a numeric feature, many at a time. To the bit what
// judging one threshold after the other finds: the same operations on doubles in the same order,
// on several candidates side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/split/split_judge.h"

namespace strata {

// In which order bins join the side that is looked at.
struct BinOrder {
  uint32_t first = 0;
  uint32_t bins = 0;         // how many join
  bool upwards = true;       // from the first bin to larger ones
  int64_t passed_over = -1;  // a bin that does not join: rows without a value; -1: none
};

// The best of a scan's candidates; the first of equal ones.
struct ScanResult {
  bool found = false;
  double gain = 0;        // of both sides together
  GradientSums side;      // of the bins that have joined
  int64_t rows = 0;       // of the side
  uint32_t last_bin = 0;  // that joined
};

// Judges the side after each bin that joins it. A candidate counts if its gain is above
// `gain_to_beat` and both sides keep to the rules' least rows and hessians. `judge` is plain. Any
// number of threads.
ScanResult ScanThresholds(std::span<const GradientSums> histogram, const BinOrder& order,
                          const SplitJudge& judge, double gain_to_beat);

}  // namespace strata
