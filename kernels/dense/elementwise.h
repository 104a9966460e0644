// Layers that work element by element: activations, products, sums of vectors. Row i of a matrix of
// stride s begins at element i * s, and spans end after the last element.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/dense/activation.h"
#include "strata/exec.h"

namespace strata {

// Two matrices of the same width.
struct PairShape {
  size_t samples = 0;
  size_t width = 0;
  size_t from_stride = 0;
  size_t to_stride = 0;
};

// to = activation(from). Both may be the same numbers.
void Activate(const Exec& exec, const PairShape& shape, Activation activation,
              std::span<const float> from, std::span<float> to);
// dx = or += the gradient of `from`; y lies like dy. dx may be dy where nothing is added. The shape
// is that of dy and dx.
void ActivateBack(const Exec& exec, const PairShape& shape, Activation activation,
                  std::span<const float> y, std::span<const float> dy, std::span<float> dx,
                  bool adds);

// Three matrices of the same width.
struct ProductShape {
  size_t samples = 0;
  size_t width = 0;
  size_t a_stride = 0;
  size_t b_stride = 0;
  size_t y_stride = 0;
};

// y = a * b.
void Multiply(const Exec& exec, const ProductShape& shape, std::span<const float> a,
              std::span<const float> b, std::span<float> y);
// da += dy * b and db += dy * a; da lies like a, and db like b. a and b may be the same numbers.
void MultiplyBack(const Exec& exec, const ProductShape& shape, std::span<const float> a,
                  std::span<const float> b, std::span<const float> dy, std::span<float> da,
                  std::span<float> db);

// x is `vectors` vectors of y's width side by side, y their sum. The width is y's.
void SumVectors(const Exec& exec, const PairShape& shape, size_t vectors, std::span<const float> x,
                std::span<float> y);
// dx += dy, each vector of it. The shape is that of dx (from) and dy (to).
void SumVectorsBack(const Exec& exec, const PairShape& shape, size_t vectors,
                    std::span<const float> dy, std::span<float> dx);

}  // namespace strata
