#include "worker/gbdt/catboost/train/class_rows.h"

#include <algorithm>

#include "worker/gbdt/catboost/train/class_losses.h"
#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {
namespace {

// A row's numbers side by side.
void Gather(std::span<const double> numbers, size_t rows, size_t row, std::vector<double>* of_row) {
  of_row->resize(numbers.size() / rows);
  for (size_t k = 0; k < of_row->size(); ++k) (*of_row)[k] = numbers[k * rows + row];
}

// The sum over all rows of weight * value(raw values of the row, its label).
template <typename Value>
double WeightedSum(const FitRows& rows, std::span<const double> raw, WorkPool& pool,
                   const Value& value) {
  return SumRows(rows.rows(), pool, [&](size_t row) {
    thread_local std::vector<double> of_row;
    Gather(raw, rows.rows(), row, &of_row);
    return rows.weights[row] * value(std::span<const double>(of_row), rows.labels[row]);
  });
}

}  // namespace

double MeanClassLoss(FitLoss loss, const FitRows& rows, std::span<const double> raw,
                     WorkPool& pool) {
  const double sum = WithClassLoss(loss, [&](auto of) {
    return WeightedSum(rows, raw, pool, [of](std::span<const double> values, float label) {
      return of.Value(values, static_cast<size_t>(label));
    });
  });
  return sum / rows.weight_sum;
}

double ClassAccuracy(const FitRows& rows, std::span<const double> raw, WorkPool& pool) {
  const double right =
      WeightedSum(rows, raw, pool, [](std::span<const double> values, float label) {
        const auto best = std::ranges::max_element(values) - values.begin();
        return static_cast<float>(best) == label ? 1.0 : 0.0;
      });
  return right / rows.weight_sum;
}

std::vector<double> ClassProbabilities(FitLoss loss, const FitRows& rows,
                                       std::span<const double> raw, WorkPool& pool) {
  const size_t count = rows.rows();
  std::vector<double> probabilities(raw.size());
  WithClassLoss(loss, [&](auto of) {
    pool.RunPieces(count, FitPiece(count), [&](size_t begin, size_t end) {
      std::vector<double> values;
      for (size_t row = begin; row < end; ++row) {
        Gather(raw, count, row, &values);
        of.ToProbabilities(values);
        for (size_t k = 0; k < values.size(); ++k) probabilities[k * count + row] = values[k];
      }
    });
  });
  return probabilities;
}

void DeriveClasses(FitLoss loss, const FitRows& rows, std::span<const double> raw, WorkPool& pool,
                   std::span<double> gradients) {
  const size_t count = rows.rows();
  const std::vector<double> probabilities = ClassProbabilities(loss, rows, raw, pool);
  pool.Run(gradients.size() / count, [&](size_t k) {
    const auto output = static_cast<float>(k);
    for (size_t row = 0; row < count; ++row) {
      const double hit = rows.labels[row] == output ? 1 : 0;
      gradients[k * count + row] = rows.weights[row] * (hit - probabilities[k * count + row]);
    }
  });
}

}  // namespace strata
