// Sums over rows by several threads, as sums of integers (ExactUnits): their bits depend neither on
// an order of the rows nor on how many threads there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/core/math.h"
#include "kernels/core/wide_vectors.h"
#include "kernels/tree/gradient/exact_units.h"
#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {

// The range of all rows' numbers, where range(begin, end) is that of the rows between.
template <typename RangeOf>
ExactRange RangeOfRows(size_t rows, WorkPool& pool, const RangeOf& range_of) {
  const size_t piece = FitPiece(rows);
  std::vector<ExactRange> ranges((rows + piece - 1) / piece);
  pool.RunPieces(rows, piece,
                 [&](size_t begin, size_t end) { ranges[begin / piece] = range_of(begin, end); });
  ExactRange range;
  for (const ExactRange& of_piece : ranges) range.Add(of_piece);
  return range;
}

// So many sums over all rows, where add(begin, end, sums) adds up those of the rows between. They
// are 0 before.
template <typename Add>
std::vector<int64_t> SumPieces(size_t rows, size_t count, WorkPool& pool, const Add& add) {
  const size_t piece = FitPiece(rows);
  std::vector<int64_t> sums((rows + piece - 1) / piece * count);
  pool.RunPieces(rows, piece, [&](size_t begin, size_t end) {
    add(begin, end, sums.data() + begin / piece * count);
  });
  for (size_t i = count; i < sums.size(); ++i) sums[i % count] += sums[i];
  sums.resize(count);
  return sums;
}

// As ExactRange::Add has it. Sizes are compared as integers, which vectors can do in any order.
template <typename Number>
ExactRange RangeOf(std::span<const Number> numbers) {
  constexpr int64_t kInfinity = 0x7ff0000000000000;
  int64_t largest = 0;
  int64_t largest_finite = 0;
  WithWideVectors([&] {
    int64_t all = 0;
    int64_t finite = 0;
    for (const Number number : numbers) {
      const auto size = static_cast<int64_t>(math::BitsOf(number) & ~(uint64_t{1} << 63));
      const int64_t size_if_finite = size < kInfinity ? size : 0;
      all = std::max(all, size);
      finite = std::max(finite, size_if_finite);
    }
    largest = all;
    largest_finite = finite;
  });
  return {.largest = math::FromBits(static_cast<uint64_t>(largest_finite)),
          .are_finite = largest < kInfinity};
}

// The sum of the numbers that fill(begin, end, numbers) writes for the rows between, of all rows;
// infinity where one of them is not finite. `numbers` has that of the row `begin` first.
template <typename Fill>
double SumFilled(size_t rows, WorkPool& pool, const Fill& fill) {
  const auto numbers = std::make_unique_for_overwrite<double[]>(rows);
  const ExactRange range = RangeOfRows(rows, pool, [&](size_t begin, size_t end) {
    fill(begin, end, numbers.get() + begin);
    return RangeOf(std::span<const double>(numbers.get() + begin, end - begin));
  });
  if (!range.are_finite) return math::Infinity();
  const ExactUnits units = ExactUnits::For(range.largest, rows);
  const auto sums = SumPieces(rows, 1, pool, [&](size_t begin, size_t end, int64_t* sum) {
    for (size_t row = begin; row < end; ++row) *sum += units.Of(numbers[row]);
  });
  return units.Value(sums[0]);
}

// The same for value(row), a double, which is called once for each row.
template <typename Value>
double SumRows(size_t rows, WorkPool& pool, const Value& value) {
  return SumFilled(rows, pool, [&value](size_t begin, size_t end, double* numbers) {
    for (size_t row = begin; row < end; ++row) numbers[row - begin] = value(row);
  });
}

// Of each leaf the sum of its rows' numbers. One that is not finite counts as 0.
template <typename Number>
std::vector<double> SumByLeaf(std::span<const Number> numbers, std::span<const uint16_t> leaves,
                              size_t leaf_count, WorkPool& pool) {
  const size_t rows = numbers.size();
  const ExactRange range = RangeOfRows(rows, pool, [&](size_t begin, size_t end) {
    return RangeOf(numbers.subspan(begin, end - begin));
  });
  const ExactUnits units = ExactUnits::For(range.largest, rows);
  const auto sums = SumPieces(rows, leaf_count, pool, [&](size_t begin, size_t end, int64_t* of) {
    for (size_t row = begin; row < end; ++row) of[leaves[row]] += units.Of(numbers[row]);
  });
  std::vector<double> values(leaf_count);
  for (size_t leaf = 0; leaf < leaf_count; ++leaf) values[leaf] = units.Value(sums[leaf]);
  return values;
}

}  // namespace strata
