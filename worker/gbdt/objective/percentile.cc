#include <algorithm>
#include <numeric>

#include "worker/gbdt/objective/objective.h"

namespace strata {

// LightGBM counts from the largest value down: position (n - 1) * (1 - share), between two values
// in proportion.
double PercentileOf(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  if (values.size() == 1) return values[0];
  std::ranges::sort(values);
  const size_t count = values.size();
  const double position = static_cast<double>(count - 1) * (1 - share);
  const auto place = static_cast<size_t>(position);
  if (place + 1 >= count) return values[0];
  const double above = values[count - 1 - place];
  const double below = values[count - 2 - place];
  return above - (above - below) * (position - static_cast<double>(place));
}

// Between two values in proportion only where the upper one weighs at least 1: LightGBM 4.7's rule,
// found by asking it.
double WeightedPercentileOf(std::span<const double> values, std::span<const double> weights,
                            double share) {
  if (values.empty()) return 0;
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> sums(values.size());
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) sums[i] = sum += weights[order[i]];
  const double threshold = sum * share;
  const size_t place =
      std::min(static_cast<size_t>(std::ranges::upper_bound(sums, threshold) - sums.begin()),
               values.size() - 1);
  const double value = values[order[place]];
  if (place == 0 || place + 1 == values.size()) return value;
  const double below = values[order[place - 1]];
  const double weight = sums[place] - sums[place - 1];
  if (weight < 1) return below;
  return (threshold - sums[place - 1]) / weight * (value - below) + below;
}

}  // namespace strata
