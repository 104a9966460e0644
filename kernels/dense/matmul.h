// Matrix products on the CPU through oneDNN, which only matmul.cc sees.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

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

// Holds one compiled product for each shape that was asked for. One thread at a time; the same
// shape, inputs and number of threads give the same bits on the same kind of processor.
class MatMul {
 public:
  // `threads` is how many threads of this process one product may use. Several workers share a
  // host, and OpenMP's threads spin while they wait, so that 1 is right unless a worker is alone.
  explicit MatMul(int threads);
  ~MatMul();

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
