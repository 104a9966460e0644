// Rounds gradients to fixed point.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/work_pool.h"
#include "kernels/tree/fixed_point.h"

namespace strata {

struct QuantiseOptions {
  GradientWidth width = GradientWidth::k16;
  // 0: units are powers of two, as fine as the width allows. Else so many levels, LightGBM's
  // num_grad_quant_bins: half of them a side for gradients, all for hessians.
  int64_t bins = 0;
  uint64_t seed = 0;
};

// Gradients of one tree in fixed point, and what they are worth. Reused from tree to tree.
class QuantisedGradients {
 public:
  // `round` seeds what is random: rows of 16 bits are rounded up or down with the probability that
  // keeps their mean, rows of 32 bits to the nearest. Gradients that are not finite count as 0;
  // returns how many there were.
  uint64_t Quantise(std::span<const float> gradients, std::span<const float> hessians,
                    const QuantiseOptions& options, uint64_t round, WorkPool& pool);

  FixedGradients view() const { return {rows16_, rows32_}; }
  const GradientUnits& units() const { return units_; }

 private:
  std::vector<uint32_t> rows16_;
  std::vector<Row32> rows32_;
  GradientUnits units_;
};

}  // namespace strata
