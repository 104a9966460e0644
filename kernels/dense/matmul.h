// Matrix products on the CPU through oneDNN, which only matmul.cc sees.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/thread/work_pool.h"
#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

// C = A * B (+ bias): A is m x k, B is k x n, C is m x n, all row-major. A transposed operand is
// stored the other way round: A as k x m, B as n x k.
struct MatMulShape {
  size_t m = 0;
  size_t k = 0;
  size_t n = 0;
  bool a_transposed = false;
  bool b_transposed = false;
  bool bias = false;  // one value a column of C
  // Elements from a stored row to the next one. 0: the rows have no gaps.
  size_t a_stride = 0;
  size_t b_stride = 0;
  size_t c_stride = 0;

  friend auto operator<=>(const MatMulShape&, const MatMulShape&) = default;
};

// Holds one compiled product for each shape that was asked for. One thread at a time.
//
// The same shape and inputs give the same bits on the same kind of processor. On those with AVX-512
// the number of threads changes none; on others it may.
class MatMul {
 public:
  // `threads` help with a product, and outlive this; null: the calling thread works alone.
  explicit MatMul(WorkPool* threads = nullptr);
  ~MatMul();

  WorkPool* threads() const;

  // Spans begin at the first element and end after the last (STRATA_CHECK). An m, k or n of 0 gives
  // zeros or the bias.
  // kRefused for a device other than the CPU, kFailed when oneDNN has no memory for the product.
  Status Run(const Exec& exec, const MatMulShape& shape, std::span<const float> a,
             std::span<const float> b, std::span<const float> bias, std::span<float> c);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
