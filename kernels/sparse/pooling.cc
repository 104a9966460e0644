#include "kernels/sparse/pooling.h"

#include <algorithm>

#include "strata/status.h"

namespace strata {
namespace {

void CheckShape(const PoolShape& shape, std::span<const uint32_t> offsets, size_t pooled) {
  STRATA_CHECK(shape.first + shape.dim <= shape.row_dim);
  STRATA_CHECK(shape.stride >= shape.slots * shape.dim && pooled >= shape.extent());
  STRATA_CHECK(offsets.size() >= shape.samples * shape.slots + 1);
}

}  // namespace

void PoolForward(const Exec& /*exec*/, const PoolShape& shape, std::span<const uint32_t> offsets,
                 std::span<const uint32_t> index, std::span<const float> rows,
                 std::span<float> pooled) {
  CheckShape(shape, offsets, pooled.size());
  for (size_t i = 0; i < shape.samples; ++i) {
    for (size_t s = 0; s < shape.slots; ++s) {
      float* to = pooled.data() + i * shape.stride + s * shape.dim;
      std::fill_n(to, shape.dim, 0.0F);
      const size_t slot = i * shape.slots + s;
      for (uint32_t k = offsets[slot]; k < offsets[slot + 1]; ++k) {
        const float* row = rows.data() + index[k] * shape.row_dim + shape.first;
        for (size_t d = 0; d < shape.dim; ++d) to[d] += row[d];
      }
    }
  }
}

void PoolBackward(const Exec& /*exec*/, const PoolShape& shape, std::span<const uint32_t> offsets,
                  std::span<const uint32_t> index, std::span<const float> dpooled,
                  std::span<float> row_gradients) {
  CheckShape(shape, offsets, dpooled.size());
  for (size_t i = 0; i < shape.samples; ++i) {
    for (size_t s = 0; s < shape.slots; ++s) {
      const float* from = dpooled.data() + i * shape.stride + s * shape.dim;
      const size_t slot = i * shape.slots + s;
      for (uint32_t k = offsets[slot]; k < offsets[slot + 1]; ++k) {
        float* row = row_gradients.data() + index[k] * shape.row_dim + shape.first;
        for (size_t d = 0; d < shape.dim; ++d) row[d] += from[d];
      }
    }
  }
}

}  // namespace strata
