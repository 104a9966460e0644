#include "worker/gbdt/catboost/train/weighted_quantile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace strata {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// The first of the sorted values up to which the weights are `least` or more.
double FirstReaching(std::span<const WeightedValue> sorted, double least) {
  double sum = 0;
  for (const WeightedValue& item : sorted) {
    sum += item.weight;
    if (sum >= least) return item.value;
  }
  return sorted.back().value;
}

// The same by bisection, as CatBoost searches 100 values and more: 0 comes out a little above 0.
double BisectReaching(std::span<const WeightedValue> sorted, double least) {
  std::vector<double> sums(sorted.size() + 1);
  for (size_t i = 0; i < sorted.size(); ++i) sums[i + 1] = sums[i] + sorted[i].weight;
  double below = sorted.front().value - kEpsilon;
  double above = sorted.back().value;
  constexpr int kSteps = 100;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (below + above) / 2;
    const auto end = std::ranges::upper_bound(sorted, middle, {}, &WeightedValue::value);
    (sums[static_cast<size_t>(end - sorted.begin())] < least ? below : above) = middle;
  }
  return above;
}

double Quantile(std::span<const WeightedValue> sorted, double alpha, double total) {
  if (alpha <= 0) return sorted.front().value;
  constexpr size_t kBisected = 100;
  const double least = total * alpha - kEpsilon;
  return sorted.size() < kBisected ? FirstReaching(sorted, least) : BisectReaching(sorted, least);
}

}  // namespace

float BestConstant(const LossSpec& loss, std::span<WeightedValue> values) {
  if (values.empty()) return 0;
  const bool is_mape = loss.type == FitLoss::kMape;
  double total = 0;
  for (WeightedValue& item : values) {
    if (is_mape) item.weight /= std::max(1.0F, std::abs(item.value));
    total += item.weight;
  }
  std::ranges::stable_sort(values, {}, &WeightedValue::value);
  const double quantile = Quantile(values, loss.alpha, total);
  if (is_mape || loss.delta <= 0) return static_cast<float>(quantile);
  double less = 0;
  double equal = 0;
  for (const WeightedValue& item : values) {
    if (item.value < quantile) less += item.weight;
    if (item.value == quantile) equal += item.weight;
  }
  const bool is_lowered = less + equal * loss.alpha >= total * loss.alpha - kEpsilon;
  return static_cast<float>(is_lowered ? quantile - loss.delta : quantile + loss.delta);
}

}  // namespace strata
