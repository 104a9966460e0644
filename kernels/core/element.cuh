// Numbers of 16 and 32 bits as they are stored on a GPU, and arithmetic's fp32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace strata {

template <typename T>
__device__ T Rounded(float x) {
  if constexpr (std::is_same_v<T, float>) return x;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16_rn(x);
  if constexpr (std::is_same_v<T, __half>) return __float2half_rn(x);
}
template <typename T>
__device__ float Widened(T x) {
  if constexpr (std::is_same_v<T, float>) return x;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __bfloat162float(x);
  if constexpr (std::is_same_v<T, __half>) return __half2float(x);
}

// The 16 bits of a narrow element.
inline __device__ uint16_t BitsOf(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
inline __device__ uint16_t BitsOf(__half x) { return __half_as_ushort(x); }
template <typename T>
__device__ T FromBits(uint16_t bits) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __ushort_as_bfloat16(bits);
  if constexpr (std::is_same_v<T, __half>) return __ushort_as_half(bits);
}

}  // namespace strata
