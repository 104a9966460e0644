// Gradients of rows, a piece of the rows at a time: of a loss, and rounded to fixed point. Several
// rows side by side, to the bit what one at a time gives (losses.h, fixed_point.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/tree/gradient/fixed_point.h"

namespace strata {

// The loss's slopes times the row's weight (no weights: 1). All spans are of the same rows. Loss:
// any of losses.h. Any number of threads, each with rows of its own.
template <typename Loss>
void SlopesOfRows(const Loss& loss, std::span<const double> scores, std::span<const float> labels,
                  std::span<const float> weights, std::span<float> gradients,
                  std::span<float> hessians);

// The largest size of a gradient and the largest hessian, 0 at least, of rows where both are
// finite; and how many others there are.
struct LargestSlopes {
  float gradient = 0;
  float hessian = 0;
  uint64_t not_finite = 0;
};
LargestSlopes FindLargestSlopes(std::span<const float> gradients, std::span<const float> hessians);

// Rounds gradients to whole units; those that are not finite count as 0. 32 bits to the nearest, 16
// bits up or down by chance: of the seed and the row's number, which is `first_row` for the first.
void RoundRows32(std::span<const float> gradients, std::span<const float> hessians,
                 const GradientUnits& units, std::span<Row32> rows);
void RoundRows16(std::span<const float> gradients, std::span<const float> hessians,
                 const GradientUnits& units, uint64_t seed, uint64_t first_row,
                 std::span<uint32_t> rows);

}  // namespace strata
