// What kernels do with the rows of a map as fp32. kNarrow: the map may store bf16 or fp16
// (MapRef::IsNarrow); kernels for maps of fp32 are compiled without a thought of it.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/core/initializer.h"
#include "kernels/core/narrow.h"
#include "kernels/hashmap/map_device.cuh"
#include "strata/gpu/hash_map.h"

namespace strata {

// Calls run(std::bool_constant) with what kernels take as kNarrow.
template <typename Run>
void WithNarrow(bool is_narrow, const Run& run) {
  if (is_narrow) {
    run(std::true_type());
  } else {
    run(std::false_type());
  }
}

// The nearest to x that the type has.
template <bool kNarrow>
__device__ float Held(ElementType type, float x) {
  if constexpr (kNarrow) {
    if (type != ElementType::kFp32) return narrow::FromBits(type, narrow::ToBits(type, x));
  }
  return x;
}

// Element i of an array of the type.
template <bool kNarrow>
__device__ float ElementOf(ElementType type, const void* array, uint32_t i) {
  if constexpr (kNarrow) {
    if (type != ElementType::kFp32) {
      return narrow::FromBits(type, static_cast<const uint16_t*>(array)[i]);
    }
  }
  return static_cast<const float*>(array)[i];
}

// Of the value that the row of a key has before its first write.
template <bool kNarrow>
__device__ float InitialValueElement(const MapRef& map, const RowStart& start, uint64_t key,
                                     uint32_t e) {
  return Held<kNarrow>(map.value_type, InitialElement(start.initializer, start.seed, key, e));
}

// Four elements that lie side by side.
inline __device__ float4 WidenedFour(ElementType type, const uint2& four) {
  const auto at = [type](uint32_t word, uint32_t half) {
    return narrow::FromBits(type, static_cast<uint16_t>(word >> (16 * half)));
  };
  return {at(four.x, 0), at(four.x, 1), at(four.y, 0), at(four.y, 1)};
}

// Each lane brings the row whose value it wants, null for none; the warp copies all of them.
// aligned: rows begin where a vector of 16 bytes may, as they do in a map.
template <bool kNarrow>
__device__ void CopyValues(const MapRef& map, const float* row, float* to, bool aligned = true) {
  if constexpr (kNarrow) {
    const ElementType type = map.value_type;
    if (type != ElementType::kFp32 && map.dim % 4 == 0 && aligned) {
      CopyRows(reinterpret_cast<const uint2*>(row), reinterpret_cast<float4*>(to), map.dim / 4,
               [type](const uint2& four) { return WidenedFour(type, four); });
      return;
    }
    if (type != ElementType::kFp32) {
      CopyRows(reinterpret_cast<const uint16_t*>(row), to, map.dim,
               [type](uint16_t bits) { return narrow::FromBits(type, bits); });
      return;
    }
  }
  if (aligned) {
    CopyFloats(row, to, map.dim);
  } else {
    CopyRows(row, to, map.dim);
  }
}

// Each lane says whether it wants its key's initial value; the warp writes all of them.
template <bool kNarrow>
__device__ void WriteInitial(const MapRef& map, const RowStart& start, bool wants, uint64_t key,
                             float* to) {
  for (uint32_t left = __ballot_sync(~0U, wants); left != 0; left &= left - 1) {
    const int lane = __ffs(static_cast<int>(left)) - 1;
    const uint64_t its_key = __shfl_sync(~0U, key, lane);
    auto* row = reinterpret_cast<float*>(__shfl_sync(~0U, reinterpret_cast<uint64_t>(to), lane));
    for (uint32_t e = Lane(); e < map.dim; e += 32) {
      row[e] = InitialValueElement<kNarrow>(map, start, its_key, e);
    }
  }
}

// Word `word` of a stored row whose element n (state follows value) is element(n), each rounded to
// the nearest that its type has. What belongs to no element is zero.
template <typename Element>
__device__ uint32_t StoredWord(const MapRef& map, uint32_t word, const Element& element) {
  const uint32_t byte = 4 * word;
  const auto value_bytes = static_cast<uint32_t>(BytesOf(map.value_type));
  const auto state_bytes = static_cast<uint32_t>(map.state_types.element_bytes());
  uint32_t result = 0;
  for (uint32_t half = 0; half < 4; half += 2) {
    const bool is_state = byte + half >= map.state_offset;
    const uint32_t bytes = is_state ? state_bytes : value_bytes;
    const uint32_t n = (byte + half - (is_state ? map.state_offset : 0)) / bytes;
    const ElementType type = is_state ? map.state_types.Of(n, map.dim) : map.value_type;
    if (n >= (is_state ? map.state_width : map.dim)) continue;
    const float x = element(is_state ? map.dim + n : n);
    if (type == ElementType::kFp32) return __float_as_uint(x);
    result |= uint32_t{narrow::ToBits(type, x)} << (8 * half);
  }
  return result;
}

// Words `word` to `word` + 3, likewise.
template <typename Element>
__device__ float4 StoredFour(const MapRef& map, uint32_t word, const Element& element) {
  const auto at = [&](uint32_t n) { return __uint_as_float(StoredWord(map, word + n, element)); };
  return {at(0), at(1), at(2), at(3)};
}

}  // namespace strata
