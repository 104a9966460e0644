// Dot products between the vectors of a sample (Naumov et al., "Deep Learning Recommendation Model
// for Personalization and Recommendation Systems", 2019).
#pragma once

#include <cstddef>
#include <span>

#include "strata/exec.h"

namespace strata {

// Sample i's vectors are x[i * x_stride + v * dim]. It gets y[i * y_stride]: vector 0, the products
// (1,0), (2,0), (2,1), (3,0) and so on, and zeros up to y_width.
struct InteractionShape {
  size_t samples = 0;
  size_t vectors = 0;
  size_t dim = 0;
  size_t x_stride = 0;
  size_t y_stride = 0;
  size_t y_width = 0;  // at least dim + vectors * (vectors - 1) / 2
};

void InteractionForward(const Exec& exec, const InteractionShape& shape, std::span<const float> x,
                        std::span<float> y);

// dx += the gradient of x; dx is laid out like x, and dy like y.
void InteractionBackward(const Exec& exec, const InteractionShape& shape, std::span<const float> x,
                         std::span<const float> dy, std::span<float> dx);

}  // namespace strata
