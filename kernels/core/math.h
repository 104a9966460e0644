// exp, log, sigmoid and their kin, the same to the last bit on the host and on every GPU: only
// additions, multiplications, divisions and square roots, which IEEE 754 rounds correctly, in a
// fixed order and without contraction (StrataBuild.cmake turns it off on both sides). The system's
// libm and CUDA's differ in the last bit, so nothing that must agree may call them.
//
// Functions of double are within 1 ulp where nothing else is said; functions of float are evaluated
// in double and rounded once, which leaves 0.5001 ulp. tests/kernels/math_test.cc holds the bounds.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "strata/host_device.h"

namespace strata::math {

STRATA_HD uint64_t BitsOf(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

STRATA_HD double FromBits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

STRATA_HD double Infinity() { return FromBits(0x7ff0000000000000ULL); }
STRATA_HD double NotANumber() { return FromBits(0x7ff8000000000000ULL); }

// False for an infinity or a NaN.
STRATA_HD bool IsFinite(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits & 0x7f800000U) != 0x7f800000U;
}

// Correctly rounded, as IEEE 754 demands of both sides.
STRATA_HD float Sqrt(float x) { return std::sqrt(x); }
STRATA_HD double Sqrt(double x) { return std::sqrt(x); }

// ln 2 in two parts: the product of the first with an integer of 11 bits is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// The nearest integer for |x| < 2^51: adding 1.5 * 2^52 leaves no bits behind the point.
STRATA_HD double Nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// 2^k for -1022 <= k <= 1023.
STRATA_HD double PowerOfTwo(int k) { return FromBits(static_cast<uint64_t>(k + 1023) << 52); }

// x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor series (the first term left out is below
// 2^-57 of the sum), scaled by 2^k in two steps so that subnormal results are rounded once.
STRATA_HD double Exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return Infinity();
  if (x < -745.1332191019412) return 0.0;
  const double k = Nearest(x * 0x1.71547652b82fep+0);  // log2(e)
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double p = 1.0 / 6227020800.0;  // 1/13!
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double y = 1.0 + (r + r * r * p);
  const int power = static_cast<int>(k);
  const int half = power / 2;
  return y * PowerOfTwo(half) * PowerOfTwo(power - half);
}
STRATA_HD float Exp(float x) { return static_cast<float>(Exp(static_cast<double>(x))); }

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f),
//   ln(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)),  R = 2 s^2/3 + 2 s^4/5 + ...,
// the arrangement of K.C. Ng's log in fdlibm, which loses no bits to f.
STRATA_HD double Log(double x) {
  if (x != x || x == Infinity()) return x;
  if (x == 0.0) return -Infinity();
  if (x < 0.0) return NotANumber();
  int exponent = 0;
  if (x < 0x1p-1022) {  // subnormal
    x *= 0x1p54;
    exponent = -54;
  }
  const uint64_t bits = BitsOf(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = FromBits((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double r = 2.0 / 23.0;
  r = r * z + 2.0 / 21.0;
  r = r * z + 2.0 / 19.0;
  r = r * z + 2.0 / 17.0;
  r = r * z + 2.0 / 15.0;
  r = r * z + 2.0 / 13.0;
  r = r * z + 2.0 / 11.0;
  r = r * z + 2.0 / 9.0;
  r = r * z + 2.0 / 7.0;
  r = r * z + 2.0 / 5.0;
  r = r * z + 2.0 / 3.0;
  r = r * z;
  const double half_square = 0.5 * f * f;
  const double e = exponent;
  return e * kLn2High - ((half_square - (s * (half_square + r) + e * kLn2Low)) - f);
}
STRATA_HD float Log(float x) { return static_cast<float>(Log(static_cast<double>(x))); }

// ln(1 + x), accurate for small x too: the rounding of 1 + x is undone by the quotient
// (W. Kahan's device; Hewlett-Packard 15C Advanced Functions Handbook, 1982). Within 3 ulp.
STRATA_HD double Log1p(double x) {
  const double u = 1.0 + x;
  if (u == 1.0) return x;
  if (u == Infinity()) return u;
  return Log(u) * (x / (u - 1.0));
}

// 1 / (1 + e^-x) without overflow. Within 3 ulp.
STRATA_HD double Sigmoid(double x) {
  const double e = Exp(x < 0.0 ? x : -x);
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
STRATA_HD float Sigmoid(float x) { return static_cast<float>(Sigmoid(static_cast<double>(x))); }

// ln(1 + e^x) without overflow: the log loss of a logit x is Softplus(x) - label * x. With e the
// smaller one of e^x and e^-x, ln(1 + e) = 2 atanh(s) with s = e / (2 + e), at most 1/3; the first
// term left out of the series is below 2^-59 of the sum. Without a branch, so that loops vectorise.
// Within 4 ulp.
STRATA_HD double Softplus(double x) {
  const double e = Exp(-std::fabs(x));
  const double twice = 2.0 * e / (2.0 + e);
  const double z = 0.25 * twice * twice;
  double r = 1.0 / 33.0;
  r = r * z + 1.0 / 31.0;
  r = r * z + 1.0 / 29.0;
  r = r * z + 1.0 / 27.0;
  r = r * z + 1.0 / 25.0;
  r = r * z + 1.0 / 23.0;
  r = r * z + 1.0 / 21.0;
  r = r * z + 1.0 / 19.0;
  r = r * z + 1.0 / 17.0;
  r = r * z + 1.0 / 15.0;
  r = r * z + 1.0 / 13.0;
  r = r * z + 1.0 / 11.0;
  r = r * z + 1.0 / 9.0;
  r = r * z + 1.0 / 7.0;
  r = r * z + 1.0 / 5.0;
  r = r * z + 1.0 / 3.0;
  return (x > 0.0 ? x : 0.0) + (twice + twice * (z * r));
}
STRATA_HD float Softplus(float x) { return static_cast<float>(Softplus(static_cast<double>(x))); }

// base^n by squaring; relative error at most n x 2.3e-16.
STRATA_HD double Power(double base, uint64_t n) {
  double result = 1.0;
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

struct CosSin {
  double cos;
  double sin;
};

// Cosine and sine of 2 pi t, |t| <= 2^40: the nearest quarter turn is taken off exactly, the rest
// (at most pi/4) goes through the Taylor series. Absolute error below 2.3e-16.
STRATA_HD CosSin CosSinOfTurns(double t) {
  const double quarters = Nearest(4.0 * t);
  const double x = (t - quarters * 0.25) * 6.283185307179586;
  const double z = x * x;
  double c = 1.0 / 20922789888000.0;  // 1/16!
  c = c * z - 1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = c * z - 0.5;
  c = c * z + 1.0;
  double s = 1.0 / 355687428096000.0;  // 1/17!
  s = s * z - 1.0 / 1307674368000.0;
  s = s * z + 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  s = x + x * z * s;
  switch (static_cast<int64_t>(quarters) & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

// Two independent standard normal numbers from 2 x 64 random bits: the method of G. Box and
// M. Muller ("A note on the generation of random normal deviates", 1958). At most 8.6 in size.
struct NormalPair {
  double first;
  double second;
};
STRATA_HD NormalPair NormalsFromBits(uint64_t a, uint64_t b) {
  const double u = static_cast<double>((a >> 11) + 1) * 0x1p-53;  // (0, 1]
  const double turns = static_cast<double>(b >> 11) * 0x1p-53;    // [0, 1)
  const double radius = Sqrt(-2.0 * Log(u));
  const CosSin angle = CosSinOfTurns(turns);
  return {radius * angle.cos, radius * angle.sin};
}

}  // namespace strata::math
