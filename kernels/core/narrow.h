// fp32 to bf16 and fp16 and back, by integer arithmetic on the bits: the same on host and device.
//
// Widening is exact. Narrowing goes to the nearest, of two to the even one, or stochastically: up
// with the probability that is the distance from the lower neighbour, so that the mean is the
// number itself. Both round the magnitude as if exponents had no end, and what lies beyond the
// largest finite number is infinity then. A NaN stays one, of its sign, and quiet. A number that
// the narrow type can represent is kept by both.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/hash.h"
#include "kernels/core/element_type.h"
#include "kernels/core/host_device.h"

namespace strata::narrow {

// The start of the random sequence that rounds row `key` at time `step`; SequenceBits of
// kernels/core/initializer.h, by the element's index in the row, gives its bits. Frozen: a log that
// is applied again gives the same rows.
STRATA_HD uint64_t RoundingSequence(uint64_t seed, uint64_t key, uint64_t step) {
  return Mix64(Mix64(Mix64(seed ^ 0x726f756e64ULL) ^ key) + step);
}

// `magnitude` / 2^shift (0 < shift), to the nearest.
STRATA_HD uint32_t ShiftNearest(uint32_t magnitude, uint32_t shift) {
  if (shift > 25) return 0;  // of 24 bits: less than half
  const uint32_t odd = magnitude >> shift & 1;
  return (magnitude + (uint32_t{1} << (shift - 1)) - 1 + odd) >> shift;
}

// The same, up if the low bits and as many random ones give a carry.
STRATA_HD uint32_t ShiftStochastic(uint32_t magnitude, uint32_t shift, uint64_t random) {
  if (shift > 62) return 0;  // a chance below 2^-38
  const uint64_t low = random & ((uint64_t{1} << shift) - 1);
  return static_cast<uint32_t>((magnitude + low) >> shift);
}

// Calls round(magnitude, shift) where something is to be rounded.
template <typename Round>
STRATA_HD uint16_t Bf16Rounded(float value, const Round& round) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t sign = bits >> 16 & 0x8000U;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);
  if (magnitude == 0x7f800000U) return static_cast<uint16_t>(bits >> 16);
  return static_cast<uint16_t>(sign | round(magnitude, 16));
}

template <typename Round>
STRATA_HD uint16_t Fp16Rounded(float value, const Round& round) {
  constexpr uint32_t kInfinity = 0x7c00U;
  constexpr uint32_t kBiasBetween = 112;  // fp32's 127 less fp16's 15
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t sign = bits >> 16 & 0x8000U;
  if (magnitude > 0x7f800000U) {
    return static_cast<uint16_t>(sign | 0x7e00U | (magnitude >> 13 & 0x3ffU));
  }
  const uint32_t exponent = magnitude >> 23;
  if (exponent > kBiasBetween + 30) return static_cast<uint16_t>(sign | kInfinity);
  if (exponent > kBiasBetween) {
    return static_cast<uint16_t>(sign | round(magnitude - (kBiasBetween << 23), 13));
  }
  if (exponent == 0) return static_cast<uint16_t>(sign);  // far below fp16's least number
  // Subnormal: in units of 2^-24.
  const uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
  return static_cast<uint16_t>(sign | round(significand, kBiasBetween + 14 - exponent));
}

STRATA_HD uint16_t ToBits(ElementType type, float value) {
  const auto round = [](uint32_t magnitude, uint32_t shift) {
    return ShiftNearest(magnitude, shift);
  };
  return type == ElementType::kBf16 ? Bf16Rounded(value, round) : Fp16Rounded(value, round);
}

STRATA_HD uint16_t ToBitsStochastic(ElementType type, float value, uint64_t random) {
  const auto round = [random](uint32_t magnitude, uint32_t shift) {
    return ShiftStochastic(magnitude, shift, random);
  };
  return type == ElementType::kBf16 ? Bf16Rounded(value, round) : Fp16Rounded(value, round);
}

STRATA_HD float FromBits(ElementType type, uint16_t narrow) {
  const uint32_t sign = (narrow & 0x8000U) << 16;
  const uint32_t magnitude = narrow & 0x7fffU;
  uint32_t bits = magnitude << 16;
  if (type == ElementType::kFp16) {
    if (magnitude >= 0x7c00U) {
      bits = 0x7f800000U | (magnitude & 0x3ffU) << 13;
    } else if (magnitude >= 0x400U) {
      bits = (magnitude << 13) + (112U << 23);
    } else {
      const float subnormal = static_cast<float>(magnitude) * 0x1p-24F;
      memcpy(&bits, &subnormal, sizeof bits);
    }
  }
  bits |= sign;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace strata::narrow
