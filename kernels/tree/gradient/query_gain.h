// What the first places of a query's rows by score are worth, for CPU and GPU alike.
#pragma once

#include <cstdint>

#include "kernels/tree/gradient/ranking_losses.h"
#include "strata/host_device.h"

namespace strata {

enum class QueryGain : uint8_t {
  kDcg,       // gains of labels, discounted by place
  kPrecision  // the precision at each place with a label above 0
};

// Over so many places; label_at(place), gains by label.
template <typename LabelAt>
STRATA_HD double GainOfPlaces(QueryGain what, const LabelAt& label_at, const double* gains,
                              uint64_t places) {
  double sum = 0;
  uint64_t hits = 0;
  for (uint64_t place = 0; place < places; ++place) {
    const float label = label_at(place);
    if (what == QueryGain::kDcg) {
      sum += gains[static_cast<uint64_t>(label)] * loss::DiscountOf(place);
    } else if (label > 0) {
      ++hits;
      sum += static_cast<double>(hits) / static_cast<double>(place + 1);
    }
  }
  return sum;
}

// Of what is possible; 1 where nothing is.
STRATA_HD double ShareOfGain(double gain, double possible) {
  return possible > 0 ? gain / possible : 1;
}

}  // namespace strata
