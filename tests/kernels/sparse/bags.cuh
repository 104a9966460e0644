// Bags of keys as tests draw them, and elements of vectors on the host.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <random>
#include <type_traits>
#include <vector>

#include "tests/kernels/sparse/group_user.cuh"

namespace strata {

struct Bags {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> offsets;
  std::vector<float> weights;
  uint64_t count() const { return offsets.size() - 1; }
};

inline Bags DrawBags(std::mt19937_64& random, uint64_t count, bool one_hot) {
  Bags bags;
  bags.offsets.push_back(0);
  for (uint64_t bag = 0; bag < count; ++bag) {
    // Empty ones at the ends and in between, and one far longer than the others.
    uint64_t length = random() % 5 == 0 ? 0 : random() % 7;
    if (bag == count / 2) length = 150;
    if (bag == 0 || bag + 1 == count) length = 0;
    const auto keys = SkewedKeys(random, one_hot ? 1 : length);
    bags.keys.insert(bags.keys.end(), keys.begin(), keys.end());
    bags.offsets.push_back(static_cast<uint32_t>(bags.keys.size()));
  }
  for (size_t i = 0; i < bags.keys.size(); ++i) {
    bags.weights.push_back(static_cast<float>(random() % 1000) / 256.0F);
  }
  return bags;
}

// The bags of one table, `slots` a sample, in memory of the calling thread's GPU.
template <typename T>
struct TableBags {
  // behind: elements behind a sample's vectors. in_fours: each vector begins at a multiple of four.
  TableBags(std::mt19937_64& random, uint64_t samples, bool one_hot, uint32_t bag_slots,
            uint32_t dim, uint32_t behind, bool in_fours = false)
      : bags(samples == 0 ? Bags{{}, {0}, {}} : DrawBags(random, samples * bag_slots, one_hot)),
        slots(bag_slots),
        vector_stride(in_fours ? (dim + 3) / 4 * 4 : dim),
        stride(slots * vector_stride + behind),
        offsets(bags.offsets),
        weights(bags.weights),
        vectors(samples * stride) {
    vectors.Poison();
  }
  size_t ElementOf(uint64_t bag) const {
    return bag / slots * stride + bag % slots * vector_stride;
  }

  const Bags bags;
  const uint32_t slots;
  const uint64_t vector_stride;
  const uint64_t stride;
  DeviceArray<uint32_t> offsets;
  DeviceArray<float> weights;
  DeviceArray<T> vectors;
};

// Elements of vectors as they are stored.
template <typename T>
struct OnHost {
  static T Rounded(float x) {
    if constexpr (std::is_same_v<T, float>) return x;
    if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16_rn(x);
    if constexpr (std::is_same_v<T, __half>) return __float2half_rn(x);
  }
  static float Widened(T x) {
    if constexpr (std::is_same_v<T, float>) return x;
    if constexpr (std::is_same_v<T, __nv_bfloat16>) return __bfloat162float(x);
    if constexpr (std::is_same_v<T, __half>) return __half2float(x);
  }
};

}  // namespace strata
