#include "kernels/dense/linear.h"

#include <algorithm>

#include "base/hash.h"

namespace strata {

Status LinearForward(const Exec& exec, MatMul& matmul, const LinearShape& shape,
                     std::span<const float> x, std::span<const float> w, std::span<const float> b,
                     std::span<float> y) {
  return matmul.Run(exec, {.m = shape.batch, .k = shape.in, .n = shape.out, .bias = true}, x, w, b,
                    y);
}

Status LinearBackward(const Exec& exec, MatMul& matmul, const LinearShape& shape,
                      std::span<const float> x, std::span<const float> w, std::span<const float> dy,
                      std::span<float> dx, std::span<float> dw, std::span<float> db) {
  STRATA_TRY(matmul.Run(exec,
                        {.m = shape.in, .k = shape.batch, .n = shape.out, .a_transposed = true}, x,
                        dy, {}, dw));
  STRATA_CHECK(db.size() == shape.out);
  std::fill(db.begin(), db.end(), 0.0F);
  for (size_t row = 0; row < shape.batch; ++row) {
    const float* from = dy.data() + row * shape.out;
    for (size_t column = 0; column < shape.out; ++column) db[column] += from[column];
  }
  if (dx.empty()) return {};
  return matmul.Run(exec, {.m = shape.batch, .k = shape.out, .n = shape.in, .b_transposed = true},
                    dy, w, {}, dx);
}

void ReluForward(const Exec& /*exec*/, std::span<float> y) {
  for (float& value : y) value = value > 0.0F ? value : 0.0F;
}

void ReluBackward(const Exec& /*exec*/, std::span<const float> y, std::span<float> dy) {
  STRATA_CHECK(y.size() == dy.size());
  for (size_t i = 0; i < y.size(); ++i) dy[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}

void DropoutForward(const Exec& /*exec*/, float share, uint64_t seed, std::span<float> y) {
  const float scale = 1.0F / (1.0F - share);
  const auto dropped_below = static_cast<uint64_t>(double{share} * 0x1p32);
  for (size_t i = 0; i < y.size(); ++i) {
    const uint64_t random = Mix64(seed ^ Mix64(i)) >> 32;
    y[i] = random < dropped_below ? 0.0F : y[i] * scale;
  }
}

void DropoutBackward(const Exec& /*exec*/, float share, std::span<float> dy) {
  const float scale = 1.0F / (1.0F - share);
  for (float& value : dy) value *= scale;
}

}  // namespace strata
