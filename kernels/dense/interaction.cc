#include "kernels/dense/interaction.h"

#include <algorithm>

namespace strata {

void InteractionForward(const Exec& /*exec*/, const InteractionShape& shape,
                        std::span<const float> x, std::span<float> y) {
  for (size_t i = 0; i < shape.samples; ++i) {
    const float* from = x.data() + i * shape.x_stride;
    float* const to = y.data() + i * shape.y_stride;
    float* at = std::copy_n(from, shape.dim, to);
    for (size_t v = 1; v < shape.vectors; ++v) {
      for (size_t u = 0; u < v; ++u) {
        float product = 0.0F;
        for (size_t d = 0; d < shape.dim; ++d)
          product += from[v * shape.dim + d] * from[u * shape.dim + d];
        *at++ = product;
      }
    }
    std::fill(at, to + shape.y_width, 0.0F);
  }
}

void InteractionBackward(const Exec& /*exec*/, const InteractionShape& shape,
                         std::span<const float> x, std::span<const float> dy, std::span<float> dx) {
  for (size_t i = 0; i < shape.samples; ++i) {
    const float* from = x.data() + i * shape.x_stride;
    const float* at = dy.data() + i * shape.y_stride;
    float* const to = dx.data() + i * shape.x_stride;
    for (size_t d = 0; d < shape.dim; ++d) to[d] += *at++;
    for (size_t v = 1; v < shape.vectors; ++v) {
      for (size_t u = 0; u < v; ++u) {
        const float g = *at++;
        for (size_t d = 0; d < shape.dim; ++d) {
          to[v * shape.dim + d] += g * from[u * shape.dim + d];
          to[u * shape.dim + d] += g * from[v * shape.dim + d];
        }
      }
    }
  }
}

}  // namespace strata
