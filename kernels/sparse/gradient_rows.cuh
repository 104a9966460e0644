// Where an update's kernels read the gradient of a position: a row of its own, or a part of that of
// its bag. They are written over either, so a batch of rows pays nothing for bags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/sparse/elements.cuh"
#include "kernels/sparse/table_group.h"
#include "kernels/sparse/update.h"

namespace strata {

// The gradient of a key: `scale` times these elements.
template <typename T>
struct ScaledRow {
  const T* elements = nullptr;
  float scale = 1.0F;
};

// Rows of one table by position.
class PlainRows {
 public:
  using Element = float;
  static constexpr bool kScaled = false;
  static constexpr bool kInFours = false;  // whether all begin at multiples of four elements

  __device__ PlainRows(const GroupTable& table, const BatchGradients& gradients)
      : dim_(table.map.dim),
        base_(gradients.values + table.first_element - table.first_key * dim_) {}
  __device__ ScaledRow<float> Of(uint32_t position) const {
    return {base_ + uint64_t{position} * dim_};
  }

 private:
  const uint32_t dim_;
  const float* const base_;
};

// 16 bytes at once: the padding goes with the rest, as a sector that is written in part is read
// first. Words, and no memcpy of them (elements.cuh).
static_assert(sizeof(BagGradient) == sizeof(ulonglong2) && offsetof(BagGradient, scale) == 8);
inline __device__ BagGradient LoadBag(const BagGradient* from) {
  const ulonglong2 whole = *reinterpret_cast<const ulonglong2*>(from);
  return {reinterpret_cast<const void*>(whole.x), __uint_as_float(static_cast<uint32_t>(whole.y))};
}
inline __device__ void StoreBag(const BagGradient& bag, BagGradient* to) {
  *reinterpret_cast<ulonglong2*>(to) = {reinterpret_cast<unsigned long long>(bag.elements),
                                        __float_as_uint(bag.scale)};
}

// Gradients of bags, whose elements are of this type.
template <typename T>
class BagRows {
 public:
  using Element = T;
  static constexpr bool kScaled = true;
  static constexpr bool kInFours = false;

  __device__ BagRows(const GroupTable& /*table*/, const BatchGradients& gradients)
      : bags_(gradients.bags) {}
  __device__ ScaledRow<T> Of(uint32_t position) const {
    const BagGradient bag = LoadBag(bags_ + position);
    return {static_cast<const T*>(bag.elements), bag.scale};
  }

 private:
  const BagGradient* const bags_;
};

// Gradients of slots that have a key each. They begin at multiples of four elements.
template <typename T>
class SlotRows {
 public:
  using Element = T;
  static constexpr bool kScaled = false;
  static constexpr bool kInFours = true;

  __device__ SlotRows(const GroupTable& /*table*/, const BatchGradients& gradients)
      : of_(gradients.of_slots) {}
  __device__ ScaledRow<T> Of(uint32_t position) const {
    const uint32_t sample = position / of_.slots;
    const uint32_t slot = position - sample * of_.slots;
    return {static_cast<const T*>(of_.elements) + sample * of_.stride + slot * of_.vector_stride};
  }

 private:
  const SlotGradients of_;
};

// Any of these, which one is seen as a kernel runs.
struct AnyRows {};

// Calls visit(std::type_identity<Rows>()) with the Rows above of these gradients.
template <typename Visit>
__host__ __device__ void WithRows(const BatchGradients& gradients, const Visit& visit) {
  if (gradients.bags == nullptr && gradients.of_slots.elements != nullptr) {
    if (gradients.bag_type == PooledType::kFloat32) {
      visit(std::type_identity<SlotRows<float>>());
    } else {
      visit(std::type_identity<SlotRows<__nv_bfloat16>>());
    }
    return;
  }
  if (gradients.bags == nullptr) {
    visit(std::type_identity<PlainRows>());
    return;
  }
  switch (gradients.bag_type) {
    case PooledType::kFloat32:
      visit(std::type_identity<BagRows<float>>());
      return;
    case PooledType::kBFloat16:
      visit(std::type_identity<BagRows<__nv_bfloat16>>());
      return;
    case PooledType::kFloat16:
      visit(std::type_identity<BagRows<__half>>());
      return;
  }
}

}  // namespace strata
