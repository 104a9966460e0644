// Sums over rows by several threads, whose bits do not depend on how many there are.
#pragma once

#include <cstddef>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {

// The sum of value(row), a double, over all rows: of each piece, then of the pieces in their order.
template <typename Value>
double SumRows(size_t rows, WorkPool& pool, const Value& value) {
  const size_t piece = FitPiece(rows);
  std::vector<double> sums((rows + piece - 1) / piece);
  pool.RunPieces(rows, piece, [&](size_t begin, size_t end) {
    double of_piece = 0;
    for (size_t row = begin; row < end; ++row) of_piece += value(row);
    sums[begin / piece] = of_piece;
  });
  double sum = 0;
  for (const double of_piece : sums) sum += of_piece;
  return sum;
}

}  // namespace strata
