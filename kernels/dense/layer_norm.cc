#include "kernels/dense/layer_norm.h"

#include <cmath>

namespace strata {

void LayerNorm(const Exec& /*exec*/, const LayerNormShape& shape, std::span<const float> x,
               std::span<const float> scales, std::span<const float> biases,
               std::span<float> moments, std::span<float> y) {
  const auto width = static_cast<double>(shape.width);
  for (size_t i = 0; i < shape.samples; ++i) {
    const float* const from = x.data() + i * shape.x_stride;
    float* const to = y.data() + i * shape.y_stride;
    double mean = 0;
    for (size_t e = 0; e < shape.width; ++e) mean += from[e];
    mean /= width;
    double variance = 0;
    for (size_t e = 0; e < shape.width; ++e) variance += (from[e] - mean) * (from[e] - mean);
    const double scale = 1 / std::sqrt(variance / width + kLayerNormEpsilon);
    moments[i * 2] = static_cast<float>(mean);
    moments[i * 2 + 1] = static_cast<float>(scale);
    for (size_t e = 0; e < shape.width; ++e) {
      to[e] = (from[e] - moments[i * 2]) * moments[i * 2 + 1] * scales[e] + biases[e];
    }
  }
}

void LayerNormBack(const Exec& /*exec*/, const LayerNormShape& shape, std::span<const float> x,
                   std::span<const float> scales, std::span<const float> moments,
                   std::span<const float> dy, std::span<float> dx, std::span<float> dscales,
                   std::span<float> dbiases) {
  const auto width = static_cast<double>(shape.width);
  for (size_t i = 0; i < shape.samples; ++i) {
    const float* const from = x.data() + i * shape.x_stride;
    const float* const d = dy.data() + i * shape.y_stride;
    float* const to = dx.data() + i * shape.x_stride;
    const float mean = moments[i * 2];
    const float scale = moments[i * 2 + 1];
    double sum = 0;
    double product = 0;
    for (size_t e = 0; e < shape.width; ++e) {
      const float normal = (from[e] - mean) * scale;
      dscales[e] += d[e] * normal;
      dbiases[e] += d[e];
      sum += d[e] * scales[e];
      product += d[e] * scales[e] * normal;
    }
    const auto mean_gradient = static_cast<float>(sum / width);
    const auto mean_product = static_cast<float>(product / width);
    for (size_t e = 0; e < shape.width; ++e) {
      const float normal = (from[e] - mean) * scale;
      to[e] += scale * (d[e] * scales[e] - mean_gradient - normal * mean_product);
    }
  }
}

}  // namespace strata
