// fp32 to the types of 16 bits and back, by integer arithmetic on the bits: the same on host and
// device.
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
#include "strata/element_type.h"
#include "strata/host_device.h"

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

// A type with fewer bits of exponent than fp32.
template <uint32_t kExponentBits, uint32_t kFractionBits>
struct ShortExponent {
  static constexpr uint32_t kDropped = 23 - kFractionBits;  // bits of an fp32's fraction
  static constexpr uint32_t kExponentMax = (uint32_t{1} << kExponentBits) - 1;  // infinity, NaN
  static constexpr uint32_t kInfinity = kExponentMax << kFractionBits;
  static constexpr uint32_t kBiasBetween = 127 - kExponentMax / 2;

  template <typename Round>
  STRATA_HD static uint32_t Rounded(uint32_t magnitude, const Round& round) {
    if (magnitude > 0x7f800000U) {
      constexpr uint32_t kQuiet = uint32_t{1} << (kFractionBits - 1);
      return kInfinity | kQuiet | (magnitude >> kDropped & (2 * kQuiet - 1));
    }
    const uint32_t exponent = magnitude >> 23;
    if (exponent >= kBiasBetween + kExponentMax) return kInfinity;
    if (exponent > kBiasBetween) return round(magnitude - (kBiasBetween << 23), kDropped);
    if (exponent == 0) return 0;  // far below the least number
    const uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
    return round(significand, kBiasBetween + kDropped + 1 - exponent);
  }
  STRATA_HD static uint32_t Widened(uint32_t magnitude) {
    if (magnitude >= kInfinity) return 0x7f800000U | (magnitude - kInfinity) << kDropped;
    if (magnitude >> kFractionBits != 0) return (magnitude << kDropped) + (kBiasBetween << 23);
    // Subnormal: in units of 2^-(exponent's bias - 1 + kFractionBits).
    constexpr uint32_t kUnit = (kBiasBetween + 1 - kFractionBits) << 23;
    float unit;
    memcpy(&unit, &kUnit, sizeof unit);
    const float subnormal = static_cast<float>(magnitude) * unit;
    uint32_t bits;
    memcpy(&bits, &subnormal, sizeof bits);
    return bits;
  }
};
using Fp16 = ShortExponent<5, 10>;
using Square16 = ShortExponent<7, 9>;

template <typename Round>
STRATA_HD uint16_t Fp16Rounded(float value, const Round& round) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t sign = bits >> 16 & 0x8000U;
  return static_cast<uint16_t>(sign | Fp16::Rounded(magnitude, round));
}

template <typename Round>
STRATA_HD uint16_t Square16Rounded(float value, const Round& round) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (bits == 0x80000000U) return 0;
  if (bits > 0x80000000U) bits = 0x7fc00000U;  // as the root of such a number
  return static_cast<uint16_t>(Square16::Rounded(bits, round));
}

// The largest finite number of a type of 16 bits.
STRATA_HD float Largest(ElementType type);

template <typename Round>
STRATA_HD uint16_t Rounded(ElementType type, float value, const Round& round) {
  if (type == ElementType::kBf16) return Bf16Rounded(value, round);
  return type == ElementType::kFp16 ? Fp16Rounded(value, round) : Square16Rounded(value, round);
}

STRATA_HD uint16_t ToBits(ElementType type, float value) {
  return Rounded(type, value,
                 [](uint32_t magnitude, uint32_t shift) { return ShiftNearest(magnitude, shift); });
}

STRATA_HD uint16_t ToBitsStochastic(ElementType type, float value, uint64_t random) {
  return Rounded(type, value, [random](uint32_t magnitude, uint32_t shift) {
    return ShiftStochastic(magnitude, shift, random);
  });
}

STRATA_HD float FromBits(ElementType type, uint16_t narrow) {
  uint32_t bits = uint32_t{narrow} << 16;
  if (type == ElementType::kFp16) {
    bits = (narrow & 0x8000U) << 16 | Fp16::Widened(narrow & 0x7fffU);
  } else if (type == ElementType::kSquare16) {
    bits = Square16::Widened(narrow);
  }
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

STRATA_HD float Largest(ElementType type) {
  constexpr uint16_t kBf16Infinity = 0x7f80;
  if (type == ElementType::kBf16) return FromBits(type, kBf16Infinity - 1);
  return FromBits(type,
                  static_cast<uint16_t>(
                      (type == ElementType::kFp16 ? Fp16::kInfinity : Square16::kInfinity) - 1));
}

}  // namespace strata::narrow
