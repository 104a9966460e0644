// bfloat16: the upper half of a float, rounded to nearest, ties to even; NaN is 0x7fff.
// NOLINTBEGIN
#pragma once

#include "tools/simt/include/cuda_runtime.h"

struct __nv_bfloat16 {
  uint16_t bits;
};
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (x != x) return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(uint32_t{x.bits} << 16);
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {bits}; }
// NOLINTEND
