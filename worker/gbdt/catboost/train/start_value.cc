#include "worker/gbdt/catboost/train/start_value.h"

#include <cmath>
#include <vector>

#include "worker/gbdt/catboost/train/weighted_quantile.h"

namespace strata {
namespace {

float Average(const FitRows& rows) {
  double sum = 0;
  for (size_t row = 0; row < rows.rows(); ++row) {
    sum += double{rows.labels[row]} * double{rows.weights[row]};
  }
  return static_cast<float>(sum / rows.weight_sum);
}

}  // namespace

double StartValue(const FitParameters& parameters, const FitRows& rows) {
  if (!parameters.boost_from_average) return 0;
  const FitLoss loss = parameters.loss.type;
  if (!IsQuantileLike(loss)) {
    const double average = Average(rows);
    return IsBinary(loss) ? -std::log(1 / average - 1) : average;
  }
  std::vector<WeightedValue> labels(rows.rows());
  for (size_t row = 0; row < labels.size(); ++row) {
    labels[row] = {.value = rows.labels[row], .weight = rows.weights[row]};
  }
  return BestConstant(parameters.loss, labels);
}

}  // namespace strata
