// Cross layers: what both of them do element by element, and all of the first version's
// (Wang et al., "Deep & Cross Network for Ad Click Predictions", ADKDD 2017; "DCN V2", WWW 2021).
// Row i of a matrix of stride s begins at element i * s.
#pragma once

#include <cstddef>
#include <span>

#include "strata/exec.h"

namespace strata {

struct CrossShape {
  size_t samples = 0;
  size_t width = 0;
  size_t x0_stride = 0;
  size_t x_stride = 0;
  size_t y_stride = 0;
};

// y = x0 <x, w> + b + x. `products` keeps <x, w> of each sample for the backward pass.
void CrossForward(const Exec& exec, const CrossShape& shape, std::span<const float> x0,
                  std::span<const float> x, std::span<const float> w, std::span<const float> b,
                  std::span<float> products, std::span<float> y);

// dx0, dx, dw and db += the gradients; dx0, dx and dy are laid out like x0, x and y.
void CrossBackward(const Exec& exec, const CrossShape& shape, std::span<const float> x0,
                   std::span<const float> x, std::span<const float> w,
                   std::span<const float> products, std::span<const float> dy, std::span<float> dx0,
                   std::span<float> dx, std::span<float> dw, std::span<float> db);

// y = x0 * g + x element by element; g is samples x width without gaps.
void GatedForward(const Exec& exec, const CrossShape& shape, std::span<const float> x0,
                  std::span<const float> g, std::span<const float> x, std::span<float> y);

// dg = dy * x0, dx0 += dy * g, dx += dy.
void GatedBackward(const Exec& exec, const CrossShape& shape, std::span<const float> x0,
                   std::span<const float> g, std::span<const float> dy, std::span<float> dg,
                   std::span<float> dx0, std::span<float> dx);

}  // namespace strata
