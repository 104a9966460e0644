// Percentiles by LightGBM's rules (its src/objective/regression_objective.hpp), of values that lie
// in order, and what of a row they are taken of. Sums of weights are integers (ExactUnits), so
// that host and device, and ranks, agree to the bit.
#pragma once

#include <cstdint>

#include "kernels/tree/gradient/exact_units.h"
#include "strata/host_device.h"

namespace strata {

// What leaves' outputs become: a percentile of what is left of their rows' labels.
struct LeafPercentile {
  double share = 0.5;        // of rows, or of their weights, that are below
  bool is_weighted = false;  // rows count by their weights
  bool by_label = false;     // weights are over the sizes of labels above 1
  ExactUnits weights = {};   // of all rows, with is_weighted

  STRATA_HD double WeightOf(float label, double weight) const {
    if (!by_label) return weight;
    const double size = label < 0 ? -static_cast<double>(label) : label;
    return static_cast<float>(weight / (size > 1 ? size : 1));
  }
};

// What is left of a label; both zeros are 0, so that equal ones are the same bits.
STRATA_HD double ResidualOf(float label, double score) {
  return static_cast<double>(label) - score + 0.0;
}

// value_at(i): the i-th smallest of `count`. LightGBM counts from the largest one down: position
// (count - 1) * (1 - share), between two values in proportion.
template <typename ValueAt>
STRATA_HD double PercentileOfSorted(uint64_t count, double share, const ValueAt& value_at) {
  if (count == 0) return 0;
  const double position = static_cast<double>(count - 1) * (1 - share);
  const auto place = static_cast<uint64_t>(position);
  if (place + 1 >= count) return value_at(0);
  const double above = value_at(count - 1 - place);
  const double below = value_at(count - 2 - place);
  return above - (above - below) * (position - static_cast<double>(place));
}

// sum_at(i): the weights of the values up to the i-th, that one included. Between two values in
// proportion only where the upper one weighs at least 1: LightGBM 4.7's rule, found by asking it.
template <typename ValueAt, typename SumAt>
STRATA_HD double WeightedPercentileOfSorted(uint64_t count, double share, const ExactUnits& weights,
                                            const ValueAt& value_at, const SumAt& sum_at) {
  if (count == 0) return 0;
  const auto weight_of = [&weights](uint64_t sum) {
    return weights.Value(static_cast<int64_t>(sum));
  };
  const double threshold = weight_of(sum_at(count - 1)) * share;
  uint64_t place = 0;  // the first value whose sum is above it
  for (uint64_t end = count - 1; place < end;) {
    const uint64_t middle = place + (end - place) / 2;
    if (weight_of(sum_at(middle)) > threshold) {
      end = middle;
    } else {
      place = middle + 1;
    }
  }
  const double value = value_at(place);
  if (place == 0 || place + 1 == count) return value;
  const double below = value_at(place - 1);
  const uint64_t before = sum_at(place - 1);
  const double weight = weight_of(sum_at(place) - before);
  if (weight < 1) return below;
  return (threshold - weight_of(before)) / weight * (value - below) + below;
}

}  // namespace strata
