// A fully connected layer, y = x * w + b, with x: batch x in, w: in x out, b: out, y: batch x out,
// all row-major; and the dropout of hidden layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "kernels/dense/matmul.h"
#include "strata/exec.h"
#include "strata/host_device.h"
#include "strata/status.h"

namespace strata {

struct LinearShape {
  size_t batch = 0;
  size_t in = 0;
  size_t out = 0;
  // Elements from a row of x (dx) or y (dy) to the next one. 0: the rows have no gaps.
  size_t x_stride = 0;
  size_t y_stride = 0;
};

// Errors are those of MatMul::Run.
Status LinearForward(const Exec& exec, MatMul& matmul, const LinearShape& shape,
                     std::span<const float> x, std::span<const float> w, std::span<const float> b,
                     std::span<float> y);

// Gradients from dy = dL/dy: dw = x' * dy, db = column sums of dy in row order, dx = dy * w'. All
// three are overwritten; an empty dx is not computed.
Status LinearBackward(const Exec& exec, MatMul& matmul, const LinearShape& shape,
                      std::span<const float> x, std::span<const float> w, std::span<const float> dy,
                      std::span<float> dx, std::span<float> dw, std::span<float> db);

// What follows works in place on `rows` rows of `width` elements, the next one `stride` further.
struct RowShape {
  size_t rows = 0;
  size_t width = 0;
  size_t stride = 0;
  size_t first = 0;  // number of the first row
};

// The seed of a layer, by its number among those whose units are dropped and the seed of the pass.
STRATA_HD uint64_t DropoutSeed(uint64_t pass_seed, uint32_t number) {
  return Mix64(pass_seed + number);
}

// Drops hidden units while training (N. Srivastava et al., JMLR 2014): each y becomes 0 with
// probability `share` and is divided by 1 - share otherwise. Which ones is a function of `seed` and
// of row * width + column. share: 0 to below 1.
void DropoutForward(const Exec& exec, const RowShape& shape, float share, uint64_t seed,
                    std::span<float> y);
// Comes after the way back through a rectifier, which has stopped the units that were dropped.
void DropoutBackward(const Exec& exec, const RowShape& shape, float share, std::span<float> dy);

}  // namespace strata
