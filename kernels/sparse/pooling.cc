#include "kernels/sparse/pooling.h"

#include <algorithm>

#include "kernels/core/wide_vectors.h"
#include "strata/status.h"

namespace strata {
namespace {

void CheckShape(const PoolShape& shape, std::span<const uint32_t> offsets, size_t pooled) {
  STRATA_CHECK(shape.first + shape.dim <= shape.row_dim);
  STRATA_CHECK(shape.stride >= shape.slots * shape.dim && pooled >= shape.extent());
  STRATA_CHECK(shape.first_slot + shape.slots <= shape.batch_slots || shape.slots == 0);
  STRATA_CHECK(offsets.size() >= shape.samples * shape.batch_slots + 1);
}

float WeightOf(std::span<const float> key_weights, uint32_t key) {
  return key_weights.empty() ? 1.0F : key_weights[key];
}

// to += weight * from. A weight of 1 changes no bit of `from`.
void AddTimes(float weight, const float* __restrict from, size_t count, float* __restrict to) {
  for (size_t d = 0; d < count; ++d) to[d] += weight * from[d];
}

}  // namespace

void PoolForward(const Exec& /*exec*/, const PoolShape& shape, std::span<const uint32_t> offsets,
                 std::span<const uint32_t> index, std::span<const float> rows,
                 std::span<float> pooled, std::span<const float> key_weights) {
  CheckShape(shape, offsets, pooled.size());
  STRATA_CHECK(key_weights.empty() || key_weights.size() >= index.size());
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      for (size_t s = 0; s < shape.slots; ++s) {
        float* to = pooled.data() + i * shape.stride + s * shape.dim;
        std::fill_n(to, shape.dim, 0.0F);
        const size_t bag = shape.bag(i, s);
        for (uint32_t k = offsets[bag]; k < offsets[bag + 1]; ++k) {
          AddTimes(WeightOf(key_weights, k), rows.data() + index[k] * shape.row_dim + shape.first,
                   shape.dim, to);
        }
      }
    }
  });
}

void PoolBackward(const Exec& /*exec*/, const PoolShape& shape, std::span<const uint32_t> offsets,
                  std::span<const uint32_t> index, std::span<const float> dpooled,
                  std::span<float> row_gradients, std::span<const float> key_weights,
                  const ShareOfRows& share) {
  CheckShape(shape, offsets, dpooled.size());
  STRATA_CHECK(key_weights.empty() || key_weights.size() >= index.size());
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      for (size_t s = 0; s < shape.slots; ++s) {
        const float* from = dpooled.data() + i * shape.stride + s * shape.dim;
        const size_t bag = shape.bag(i, s);
        for (uint32_t k = offsets[bag]; k < offsets[bag + 1]; ++k) {
          if (!share.Has(index[k])) continue;
          AddTimes(WeightOf(key_weights, k), from, shape.dim,
                   row_gradients.data() + index[k] * shape.row_dim + shape.first);
        }
      }
    }
  });
}

}  // namespace strata
