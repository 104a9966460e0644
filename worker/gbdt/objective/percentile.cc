#include "kernels/tree/grow/percentile.h"

#include <algorithm>
#include <numeric>

#include "worker/gbdt/objective/objective.h"

namespace strata {

double PercentileOf(std::vector<double>& values, double share) {
  std::ranges::sort(values);
  return PercentileOfSorted(values.size(), share, [&](uint64_t i) { return values[i]; });
}

double WeightedPercentileOf(std::span<const double> values, std::span<const double> weights,
                            double share, const ExactUnits& exact) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<uint64_t> sums(values.size());
  uint64_t sum = 0;
  for (size_t i = 0; i < order.size(); ++i) sums[i] = sum += exact.Of(weights[order[i]]);
  return WeightedPercentileOfSorted(
      values.size(), share, exact, [&](uint64_t i) { return values[order[i]]; },
      [&](uint64_t i) { return sums[i]; });
}

}  // namespace strata
