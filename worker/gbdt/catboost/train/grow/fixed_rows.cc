#include "worker/gbdt/catboost/train/grow/fixed_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {
namespace {

struct NumberSizes {
  double largest = 0;
  double least = std::numeric_limits<double>::infinity();  // of those that are not 0
};

// Of the numbers that are finite.
NumberSizes FindSizes(std::span<const double> numbers, WorkPool& pool) {
  const size_t piece = FitPiece(numbers.size());
  std::vector<NumberSizes> pieces((numbers.size() + piece - 1) / piece);
  pool.RunPieces(numbers.size(), piece, [&](size_t begin, size_t end) {
    NumberSizes of_piece;
    for (size_t i = begin; i < end; ++i) {
      const double size = std::abs(numbers[i]);
      if (size == 0 || !std::isfinite(size)) continue;
      of_piece.largest = std::max(of_piece.largest, size);
      of_piece.least = std::min(of_piece.least, size);
    }
    pieces[begin / piece] = of_piece;
  });
  NumberSizes all;
  for (const NumberSizes& of_piece : pieces) {
    all.largest = std::max(all.largest, of_piece.largest);
    all.least = std::min(all.least, of_piece.least);
  }
  return all;
}

// What one unit is worth; 1 / unit is finite.
double FixedUnit(double largest) { return std::max(UnitFor(largest, kLevels32), 0x1p-1000); }

int32_t ToFixed(double number, double units_per_one) {
  return std::isfinite(number) ? RoundToUnits(number, units_per_one, 0.5) : 0;
}

}  // namespace

void FixedRows::Round(std::span<const double> gradients, std::span<const double> weights,
                      WorkPool& pool) {
  rows_ = weights.size();
  fixed_.resize(gradients.size());
  units_.resize(gradients.size() / rows_);
  const NumberSizes weight_sizes = FindSizes(weights, pool);
  has_unit_weights_ =
      weight_sizes.least >= weight_sizes.largest && weight_sizes.largest > 0x1p-1000;
  const double weight_unit =
      has_unit_weights_ ? weight_sizes.largest : FixedUnit(weight_sizes.largest);
  for (size_t output = 0; output < units_.size(); ++output) {
    const std::span<const double> of_output = gradients.subspan(output * rows_, rows_);
    units_[output] = {.gradient = FixedUnit(FindSizes(of_output, pool).largest),
                      .hessian = weight_unit};
    const double gradients_per_one = 1 / units_[output].gradient;
    Row32* const fixed = fixed_.data() + output * rows_;
    pool.RunPieces(rows_, FitPiece(rows_), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        fixed[row] = {.gradient = ToFixed(of_output[row], gradients_per_one),
                      .hessian = ToFixed(weights[row], 1 / weight_unit)};
      }
    });
  }
}

}  // namespace strata
