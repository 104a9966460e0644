// Elements of vectors as PooledType stores them, and arithmetic's fp32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/core/element.cuh"
#include "kernels/hashmap/row_device.cuh"

namespace strata {

// Elements of a row that a thread works on at once. Behind the row's end they are zeros.
struct alignas(16) Four {
  float of[4] = {};
};

// Four elements as they are stored, and loaded and stored at once. They are taken apart by name:
// nvcc turns a memcpy from what a load gave into loads of single bytes.
template <typename T>
using FourOf = std::conditional_t<sizeof(T) == 4, float4, uint2>;
template <typename T>
__device__ FourOf<T> Packed(const Four& four) {
  if constexpr (std::is_same_v<T, float>) {
    return {four.of[0], four.of[1], four.of[2], four.of[3]};
  } else {
    const auto pair = [](float low, float high) {
      return BitsOf(Rounded<T>(low)) | uint32_t{BitsOf(Rounded<T>(high))} << 16;
    };
    return {pair(four.of[0], four.of[1]), pair(four.of[2], four.of[3])};
  }
}
template <typename T>
__device__ Four Unpacked(const FourOf<T>& four) {
  if constexpr (std::is_same_v<T, float>) {
    return {{four.x, four.y, four.z, four.w}};
  } else {
    const auto of = [](uint32_t bits) { return Widened(FromBits<T>(static_cast<uint16_t>(bits))); };
    return {{of(four.x), of(four.x >> 16), of(four.y), of(four.y >> 16)}};
  }
}

// Elements e to e + 3 of a row of `dim`. kAligned: it begins at a multiple of four of them, and dim
// is one.
template <bool kAligned, typename T>
__device__ Four LoadFour(const T* row, uint32_t e, uint32_t dim) {
  Four four;
  if constexpr (kAligned) {
    if (e < dim) four = Unpacked<T>(*reinterpret_cast<const FourOf<T>*>(row + e));
  } else {
#pragma unroll
    for (uint32_t f = 0; f < 4; ++f) {
      if (e + f < dim) four.of[f] = Widened(row[e + f]);
    }
  }
  return four;
}
template <bool kAligned>
__device__ void StoreFour(const Four& four, float* row, uint32_t e, uint32_t dim) {
  if constexpr (kAligned) {
    if (e < dim) *reinterpret_cast<float4*>(row + e) = Packed<float>(four);
  } else {
#pragma unroll
    for (uint32_t f = 0; f < 4; ++f) {
      if (e + f < dim) row[e + f] = four.of[f];
    }
  }
}

// The same of a row that begins at a multiple of four elements, while `dim` need not be one.
template <typename T>
__device__ Four LoadFourOrTail(const T* row, uint32_t e, uint32_t dim) {
  return e + 4 <= dim ? LoadFour<true>(row, e, dim) : LoadFour<false>(row, e, dim);
}
inline __device__ void StoreFourOrTail(const Four& four, float* row, uint32_t e, uint32_t dim) {
  if (e + 4 <= dim) {
    StoreFour<true>(four, row, e, dim);
  } else {
    StoreFour<false>(four, row, e, dim);
  }
}

// The same of a row that is made.
template <bool kNarrow>
__device__ Four InitialFour(const MapRef& map, const RowStart& start, uint64_t key, uint32_t e) {
  Four four;
#pragma unroll
  for (uint32_t f = 0; f < 4; ++f) {
    if (e + f < map.dim) four.of[f] = InitialValueElement<kNarrow>(map, start, key, e + f);
  }
  return four;
}

}  // namespace strata
