// Floats of 16 bits, by the compiler's own.
// NOLINTBEGIN
#pragma once

#include "tools/simt/include/cuda_runtime.h"

struct __half {
  uint16_t bits;
};
inline __half __float2half_rn(float x) {
  return {std::bit_cast<uint16_t>(static_cast<_Float16>(x))};
}
inline float __half2float(__half x) { return static_cast<float>(std::bit_cast<_Float16>(x.bits)); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
// NOLINTEND
