// Fixed-point gradients. Each round, gradients and hessians are rounded once to integers; every sum
// of a tree is then a sum of integers: the same in any order, on any device, over any number of
// ranks (design: Trees). Stochastic rounding keeps narrow widths unbiased (Y. Shi et al.,
// "Quantized Training of Gradient Boosting Decision Trees", NeurIPS 2022).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "kernels/core/math.h"
#include "strata/host_device.h"

namespace strata {

// Bits of one stored gradient or hessian.
enum class GradientWidth : uint8_t { k16, k32 };

// What one unit of the stored integers is worth: value = integer * unit.
struct GradientUnits {
  double gradient = 1;
  double hessian = 1;
};

// The largest integers that are stored. Of 65,535 rows of 16 bits, sums fit 32 bits.
constexpr int32_t kLevels16 = 32767;
constexpr int32_t kLevels32 = 1 << 30;

// The power of two that is the smallest unit with which `largest` (at least 0, finite) does not
// exceed `levels`. A power of two, so that floats of nearly the same size are kept exactly.
STRATA_HD double UnitFor(double largest, int32_t levels) {
  if (!(largest > 0)) return 1;
  int exponent = 0;
  std::frexp(largest / levels, &exponent);  // largest / levels = f * 2^exponent, f in [1/2, 1)
  const double half = std::ldexp(1.0, exponent - 1);
  return half * levels >= largest ? half : 2 * half;
}

// Depends on the seed, the round and the row alone, not on who asks. Of different rows different:
// Mix64 is a bijection.
STRATA_HD uint64_t RowHash(uint64_t round_seed, uint64_t row) {
  return Mix64(round_seed ^ (row * 0x9e3779b97f4a7c15ULL));
}
// The same as a number in [0, 1).
STRATA_HD double RowUniform(uint64_t round_seed, uint64_t row) {
  return static_cast<double>(RowHash(round_seed, row) >> 11) * 0x1p-53;
}

// The integer below or above value / unit; above with the probability of the part cut off. `chance`
// is in [0, 1); 0.5 rounds to the nearest.
STRATA_HD int32_t RoundToUnits(double value, double units_per_one, double chance) {
  const double scaled = value * units_per_one + chance;
  const auto truncated = static_cast<int32_t>(scaled);
  return truncated - (static_cast<double>(truncated) > scaled ? 1 : 0);  // floor
}

// The double nearest to an integer, by its halves as mantissas: the lower one of 2^52, the upper
// one of 2^84; only the last addition rounds.
STRATA_HD double ToDoubleByHalves(int64_t integer) {
  const auto bits = static_cast<uint64_t>(integer);
  const uint64_t low = 0x4330000000000000ULL | (bits & 0xffffffffU);
  const uint64_t high = 0x4530000080000000ULL ^ (bits >> 32);
  return (math::FromBits(high) - 0x1.00000801p84) + math::FromBits(low);
}
STRATA_HD double ToDouble(int64_t integer) {
#ifdef __CUDA_ARCH__
  return ToDoubleByHalves(integer);  // a GPU converts at a quarter of the speed of additions
#else
  return static_cast<double>(integer);
#endif
}

// One row of width k16: the gradient above, the hessian below.
STRATA_HD uint32_t PackRow16(int32_t gradient, int32_t hessian) {
  return (static_cast<uint32_t>(gradient) << 16) | static_cast<uint32_t>(hessian);
}
// The same as 32 + 32 bits, to be added up. Hessians are not negative, so nothing is borrowed.
STRATA_HD uint64_t WidenRow16(uint32_t row) {
  const auto gradient = static_cast<int64_t>(static_cast<int32_t>(row) >> 16);
  return (static_cast<uint64_t>(gradient) << 32) + (row & 0xffffU);
}
STRATA_HD int64_t GradientOf(uint64_t packed) { return static_cast<int64_t>(packed) >> 32; }
STRATA_HD int64_t HessianOf(uint64_t packed) { return static_cast<int64_t>(packed & 0xffffffffU); }

// One row of width k32.
struct Row32 {
  int32_t gradient = 0;
  int32_t hessian = 0;
};

// Sums over rows, exact.
struct GradientSums {
  int64_t gradient = 0;
  int64_t hessian = 0;

  STRATA_HD GradientSums& operator+=(const GradientSums& other) {
    gradient += other.gradient;
    hessian += other.hessian;
    return *this;
  }
  friend STRATA_HD GradientSums operator-(const GradientSums& a, const GradientSums& b) {
    return {a.gradient - b.gradient, a.hessian - b.hessian};
  }
  friend bool operator==(const GradientSums&, const GradientSums&) = default;
};

// Gradients of rows in some order, of one width; the other is empty.
struct FixedGradients {
  std::span<const uint32_t> rows16;  // PackRow16
  std::span<const Row32> rows32;

  GradientSums Row(size_t at) const {
    if (rows16.empty()) return {rows32[at].gradient, rows32[at].hessian};
    const uint64_t row = WidenRow16(rows16[at]);
    return {GradientOf(row), HessianOf(row)};
  }
  FixedGradients Part(size_t begin, size_t count) const {
    return {rows16.empty() ? rows16 : rows16.subspan(begin, count),
            rows32.empty() ? rows32 : rows32.subspan(begin, count)};
  }
};

}  // namespace strata
