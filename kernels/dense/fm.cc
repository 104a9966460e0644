#include "kernels/dense/fm.h"

#include <algorithm>

#include "kernels/core/wide_vectors.h"
#include "strata/status.h"

namespace strata {

void FmForward(const Exec& /*exec*/, const FmShape& shape, std::span<const float> v,
               std::span<float> sums, std::span<float> logits) {
  STRATA_CHECK(shape.stride >= shape.slots * shape.dim && v.size() >= shape.extent());
  STRATA_CHECK(sums.size() == shape.samples * shape.dim && logits.size() >= shape.samples);
  WithWideVectors([&] {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (size_t i = 0; i < shape.samples; ++i) {
      float* sum = sums.data() + i * shape.dim;
      float squares = 0.0F;
      for (size_t s = 0; s < shape.slots; ++s) {
        const float* vector = v.data() + i * shape.stride + s * shape.dim;
        for (size_t d = 0; d < shape.dim; ++d) {
          sum[d] += vector[d];
          squares += vector[d] * vector[d];
        }
      }
      float square_of_sum = 0.0F;
      for (size_t d = 0; d < shape.dim; ++d) square_of_sum += sum[d] * sum[d];
      logits[i] += 0.5F * (square_of_sum - squares);
    }
  });
}

void FmBackward(const Exec& /*exec*/, const FmShape& shape, std::span<const float> v,
                std::span<const float> sums, std::span<const float> dlogits, std::span<float> dv) {
  STRATA_CHECK(v.size() >= shape.extent() && dv.size() == v.size());
  STRATA_CHECK(sums.size() == shape.samples * shape.dim && dlogits.size() >= shape.samples);
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      const float* sum = sums.data() + i * shape.dim;
      for (size_t s = 0; s < shape.slots; ++s) {
        const size_t at = i * shape.stride + s * shape.dim;
        for (size_t d = 0; d < shape.dim; ++d) dv[at + d] += dlogits[i] * (sum[d] - v[at + d]);
      }
    }
  });
}

}  // namespace strata
