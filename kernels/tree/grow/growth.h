// In which order leaves are split, and what monotone splits are worth near the root.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/core/math.h"

namespace strata {

enum class GrowPolicy : uint8_t {
  kLossGuide,  // the largest gain of all leaves first
  kDepthWise,  // those of one level, the largest gain first, before any below them
};

// What the gain of a split by a monotone feature is multiplied with, in a leaf so many levels below
// the root: above a `penalty` of 1 such splits are as good as forbidden on the first levels
// (LightGBM's monotone_penalty).
inline double MonotoneFactor(double penalty, size_t depth) {
  constexpr double kNone = 1e-15F;  // in single precision, as LightGBM has it
  const auto levels = static_cast<double>(depth);
  if (penalty <= 0) return 1;
  if (penalty >= levels + 1) return kNone;
  if (penalty <= 1) return 1 - std::ldexp(penalty, -static_cast<int>(depth)) + kNone;
  // 2 to the power of what is left: its whole part exactly.
  const double whole = std::floor(penalty);
  const double part = math::Exp((penalty - whole) * 0.6931471805599453);
  return 1 - std::ldexp(part, static_cast<int>(whole - 1 - levels)) + kNone;
}

}  // namespace strata
