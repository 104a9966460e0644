#include "kernels/dense/cross.h"

#include "kernels/core/wide_vectors.h"

namespace strata {

void CrossForward(const Exec& /*exec*/, const CrossShape& shape, std::span<const float> x0,
                  std::span<const float> x, std::span<const float> w, std::span<const float> b,
                  std::span<float> products, std::span<float> y) {
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      const float* const first = x0.data() + i * shape.x0_stride;
      const float* const from = x.data() + i * shape.x_stride;
      float* const to = y.data() + i * shape.y_stride;
      float product = 0.0F;
      for (size_t e = 0; e < shape.width; ++e) product += from[e] * w[e];
      products[i] = product;
      for (size_t e = 0; e < shape.width; ++e) to[e] = first[e] * product + b[e] + from[e];
    }
  });
}

void CrossBackward(const Exec& /*exec*/, const CrossShape& shape, std::span<const float> x0,
                   std::span<const float> x, std::span<const float> w,
                   std::span<const float> products, std::span<const float> dy, std::span<float> dx0,
                   std::span<float> dx, std::span<float> dw, std::span<float> db) {
  for (size_t i = 0; i < shape.samples; ++i) {
    const float* const first = x0.data() + i * shape.x0_stride;
    const float* const from = x.data() + i * shape.x_stride;
    const float* const g = dy.data() + i * shape.y_stride;
    float* const dfirst = dx0.data() + i * shape.x0_stride;
    float* const dfrom = dx.data() + i * shape.x_stride;
    float dproduct = 0.0F;
    for (size_t e = 0; e < shape.width; ++e) dproduct += g[e] * first[e];
    for (size_t e = 0; e < shape.width; ++e) {
      dfirst[e] += g[e] * products[i];
      dfrom[e] += g[e] + dproduct * w[e];
      dw[e] += dproduct * from[e];
      db[e] += g[e];
    }
  }
}

void GatedForward(const Exec& /*exec*/, const CrossShape& shape, std::span<const float> x0,
                  std::span<const float> g, std::span<const float> x, std::span<float> y) {
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      for (size_t e = 0; e < shape.width; ++e) {
        y[i * shape.y_stride + e] =
            x0[i * shape.x0_stride + e] * g[i * shape.width + e] + x[i * shape.x_stride + e];
      }
    }
  });
}

void GatedBackward(const Exec& /*exec*/, const CrossShape& shape, std::span<const float> x0,
                   std::span<const float> g, std::span<const float> dy, std::span<float> dg,
                   std::span<float> dx0, std::span<float> dx) {
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      for (size_t e = 0; e < shape.width; ++e) {
        const float d = dy[i * shape.y_stride + e];
        dg[i * shape.width + e] = d * x0[i * shape.x0_stride + e];
        dx0[i * shape.x0_stride + e] += d * g[i * shape.width + e];
        dx[i * shape.x_stride + e] += d;
      }
    }
  });
}

}  // namespace strata
