#include "worker/gbdt/catboost/train/grow/fixed_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct NumberSizes {
  double largest = 0;
  double least = kInfinity;  // of those that are not 0

  void Add(const NumberSizes& other) {
    largest = std::max(largest, other.largest);
    least = std::min(least, other.least);
  }
};

// Of the numbers that are finite.
NumberSizes FindSizes(std::span<const double> numbers, WorkPool& pool) {
  const size_t piece = FitPiece(numbers.size());
  std::vector<NumberSizes> pieces((numbers.size() + piece - 1) / piece);
  pool.RunPieces(numbers.size(), piece, [&](size_t begin, size_t end) {
    // Four at a time: an order is not to be kept, but the compiler would keep it.
    std::array<NumberSizes, 4> lanes;
    const auto add = [](double number, NumberSizes* lane) {
      const double size = std::abs(number);
      const double finite = size < kInfinity ? size : 0;
      const double not_zero = finite > 0 ? finite : kInfinity;
      lane->largest = finite > lane->largest ? finite : lane->largest;
      lane->least = not_zero < lane->least ? not_zero : lane->least;
    };
    for (size_t i = begin; i < end; ++i) add(numbers[i], &lanes[i % lanes.size()]);
    for (const NumberSizes& lane : lanes) pieces[begin / piece].Add(lane);
  });
  NumberSizes all;
  for (const NumberSizes& of_piece : pieces) all.Add(of_piece);
  return all;
}

}  // namespace

WeightUnit FindWeightUnit(std::span<const double> weights, WorkPool& pool) {
  const NumberSizes sizes = FindSizes(weights, pool);
  return WeightUnit::For(sizes.largest, sizes.least);
}

void FixedRows::Round(std::span<const double> gradients, std::span<const double> weights,
                      WorkPool& pool) {
  rows_ = weights.size();
  fixed_.resize(gradients.size());
  units_.resize(gradients.size() / rows_);
  const WeightUnit weight_unit = FindWeightUnit(weights, pool);
  has_unit_weights_ = weight_unit.is_only_weight;
  for (size_t output = 0; output < units_.size(); ++output) {
    const std::span<const double> of_output = gradients.subspan(output * rows_, rows_);
    units_[output] = {.gradient = Row32Unit(FindSizes(of_output, pool).largest),
                      .hessian = weight_unit.unit};
    const double gradients_per_one = 1 / units_[output].gradient;
    Row32* const fixed = fixed_.data() + output * rows_;
    pool.RunPieces(rows_, FitPiece(rows_), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        fixed[row] = {.gradient = ToRow32(of_output[row], gradients_per_one),
                      .hessian = ToRow32(weights[row], 1 / weight_unit.unit)};
      }
    });
  }
}

}  // namespace strata
