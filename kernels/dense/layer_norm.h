// Layer normalisation (Ba, Kiros and Hinton, "Layer Normalization", 2016): each sample's elements
// are shifted and scaled to mean 0 and variance 1, then by parameters of the layer.
#pragma once

#include <cstddef>
#include <span>

#include "strata/exec.h"

namespace strata {

// This is added to a variance, as the libraries of the field do.
constexpr float kLayerNormEpsilon = 1e-5F;

// Row i of x (dx) begins at i * x_stride, and that of y (dy) at i * y_stride.
struct LayerNormShape {
  size_t samples = 0;
  size_t width = 0;
  size_t x_stride = 0;
  size_t y_stride = 0;
};

// y = (x - mean) / sqrt(variance + kLayerNormEpsilon) * scales + biases. `moments` (samples x 2)
// keeps the mean and one over the root for the way back.
void LayerNorm(const Exec& exec, const LayerNormShape& shape, std::span<const float> x,
               std::span<const float> scales, std::span<const float> biases,
               std::span<float> moments, std::span<float> y);

// dx, dscales and dbiases += the gradients.
void LayerNormBack(const Exec& exec, const LayerNormShape& shape, std::span<const float> x,
                   std::span<const float> scales, std::span<const float> moments,
                   std::span<const float> dy, std::span<float> dx, std::span<float> dscales,
                   std::span<float> dbiases);

}  // namespace strata
