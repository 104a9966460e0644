// Rounds gradients to fixed point.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "worker/gbdt/data/row_share.h"

namespace strata {

struct QuantiseOptions {
  GradientWidth width = GradientWidth::k16;
  // 0: units are powers of two, as fine as the width allows. Else so many levels, LightGBM's
  // num_grad_quant_bins: half of them a side for gradients, all for hessians.
  int64_t bins = 0;
  uint64_t seed = 0;
  bool stochastic = true;  // rows of 16 bits; false: to the nearest

  // No gradient or hessian is rounded to a larger integer.
  int64_t LargestLevel() const {
    if (bins > 0) return bins + 1;
    return width == GradientWidth::k32 ? kLevels32 : kLevels16;
  }
};

// Gradients of one tree in fixed point, and what they are worth. Reused from tree to tree.
class QuantisedGradients {
 public:
  // `round` seeds what is random: rows of 16 bits are rounded up or down with the probability that
  // keeps their mean (if stochastic), rows of 32 bits to the nearest. Gradients that are not finite
  // count as 0; returns how many there were. Units and numbers are those of all ranks of `share`.
  uint64_t Quantise(std::span<const float> gradients, std::span<const float> hessians,
                    const QuantiseOptions& options, uint64_t round, const RowShare& share,
                    WorkPool& pool);

  FixedGradients view() const { return {rows16_, rows32_}; }
  const GradientUnits& units() const { return units_; }

 private:
  LargeArray<uint32_t> rows16_;
  LargeArray<Row32> rows32_;
  GradientUnits units_;
};

}  // namespace strata
