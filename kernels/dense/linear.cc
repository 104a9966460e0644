#include "kernels/dense/linear.h"

#include <algorithm>

#include "base/hash.h"
#include "base/thread/work_pool.h"
#include "kernels/core/wide_vectors.h"

namespace strata {

namespace {

constexpr size_t kPieceColumns = 128;  // which a thread sums at a time

template <typename Apply>
void ForEachElement(const RowShape& shape, const Apply& apply) {
  for (size_t row = 0; row < shape.rows; ++row) {
    for (size_t column = 0; column < shape.width; ++column) apply(row, column);
  }
}

}  // namespace

Status LinearForward(const Exec& exec, MatMul& matmul, const LinearShape& shape,
                     std::span<const float> x, std::span<const float> w, std::span<const float> b,
                     std::span<float> y) {
  return matmul.Run(exec,
                    {.m = shape.batch,
                     .k = shape.in,
                     .n = shape.out,
                     .bias = true,
                     .a_stride = shape.x_stride,
                     .c_stride = shape.y_stride},
                    x, w, b, y);
}

Status LinearBackward(const Exec& exec, MatMul& matmul, const LinearShape& shape,
                      std::span<const float> x, std::span<const float> w, std::span<const float> dy,
                      std::span<float> dx, std::span<float> dw, std::span<float> db) {
  STRATA_TRY(matmul.Run(exec,
                        {.m = shape.in,
                         .k = shape.batch,
                         .n = shape.out,
                         .a_transposed = true,
                         .a_stride = shape.x_stride,
                         .b_stride = shape.y_stride},
                        x, dy, {}, dw));
  STRATA_CHECK(db.size() == shape.out);
  const size_t stride = shape.y_stride == 0 ? shape.out : shape.y_stride;
  RunPieces(matmul.threads(), shape.out, kPieceColumns, [&](size_t begin, size_t end) {
    std::fill(db.begin() + begin, db.begin() + end, 0.0F);
    WithWideVectors([&] {
      for (size_t row = 0; row < shape.batch; ++row) {
        const float* from = dy.data() + row * stride;
        for (size_t column = begin; column < end; ++column) db[column] += from[column];
      }
    });
  });
  if (dx.empty()) return {};
  return matmul.Run(exec,
                    {.m = shape.batch,
                     .k = shape.out,
                     .n = shape.in,
                     .b_transposed = true,
                     .a_stride = shape.y_stride,
                     .c_stride = shape.x_stride},
                    dy, w, {}, dx);
}

void DropoutForward(const Exec& /*exec*/, const RowShape& shape, float share, uint64_t seed,
                    std::span<float> y) {
  const float scale = 1.0F / (1.0F - share);
  const auto dropped_below = static_cast<uint64_t>(double{share} * 0x1p32);
  ForEachElement(shape, [&](size_t row, size_t column) {
    const uint64_t random = Mix64(seed ^ Mix64((shape.first + row) * shape.width + column)) >> 32;
    float& value = y[row * shape.stride + column];
    value = random < dropped_below ? 0.0F : value * scale;
  });
}

void DropoutBackward(const Exec& /*exec*/, const RowShape& shape, float share,
                     std::span<float> dy) {
  const float scale = 1.0F / (1.0F - share);
  ForEachElement(shape,
                 [&](size_t row, size_t column) { dy[row * shape.stride + column] *= scale; });
}

}  // namespace strata
