// What each rank brings, and plain reductions of it on the host.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "cluster/gpu/gpu_reduction.h"

namespace strata {

template <typename T>
constexpr ElementType TypeOf() {
  if constexpr (std::is_same_v<T, int32_t>) return ElementType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return ElementType::kInt64;
  if constexpr (std::is_same_v<T, __half>) return ElementType::kHalf;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return ElementType::kBfloat16;
  if constexpr (std::is_same_v<T, float>) return ElementType::kFloat;
  return ElementType::kDouble;
}

// Element i of a rank's input to a test. Integers overflow in sums and products. Floats have six
// bits, so that sums of a few are exact in every type, whichever way NCCL rounds; float and double
// have all their bits, since two ranks' sum and product are rounded once.
template <typename T>
T Element(uint64_t salt, int rank, size_t i) {
  const uint64_t bits = Mix64(Mix64(salt * 64 + static_cast<uint64_t>(rank)) + i);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<T>(static_cast<float>(static_cast<int>(bits % 64) - 32) / 32.0F);
  } else {
    return static_cast<T>(static_cast<double>(bits) * 0x1p-63 - 1.0);
  }
}

template <typename T>
std::vector<T> Elements(uint64_t salt, int rank, size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = Element<T>(salt, rank, i);
  return values;
}

template <typename T>
T Reduced(ReduceOp op, T a, T b) {
  if (op == ReduceOp::kMin) return b < a ? b : a;
  if (op == ReduceOp::kMax) return a < b ? b : a;
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(op == ReduceOp::kSum ? x + y : x * y);
  } else {
    return op == ReduceOp::kSum ? a + b : a * b;
  }
}

// All ranks' inputs, reduced in the order of the ranks; half and bfloat16 in float.
template <typename T>
std::vector<T> ReducedElements(ReduceOp op, uint64_t salt, int world, size_t count) {
  using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    auto value = static_cast<Wide>(Element<T>(salt, 0, i));
    for (int r = 1; r < world; ++r) {
      value = Reduced(op, value, static_cast<Wide>(Element<T>(salt, r, i)));
    }
    values[i] = static_cast<T>(value);
  }
  return values;
}

}  // namespace strata
