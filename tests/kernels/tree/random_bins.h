// Random binned data with fixed-point gradients, for the tests of tree kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/gradient/fixed_point.h"

namespace strata {

struct RandomBins {
  RandomBins(uint64_t seed, size_t row_count, std::vector<uint32_t> bin_counts)
      : rows(row_count), counts(std::move(bin_counts)), matrix(rows, counts) {
    Random random(seed);
    std::vector<uint32_t> row_bins(counts.size());
    for (size_t row = 0; row < rows; ++row) {
      for (size_t f = 0; f < counts.size(); ++f) {
        // Half of the rows in few bins, so that bins are crowded and empty.
        const uint32_t range = random.Chance(0.5) ? counts[f] : (counts[f] + 7) / 8;
        row_bins[f] = static_cast<uint32_t>(random.Below(range));
      }
      matrix.SetRow(row, row_bins);
      bins.push_back(row_bins);
      const auto gradient = static_cast<int32_t>(random.Below(2 * kLevels16 + 1)) - kLevels16;
      const auto hessian = static_cast<int32_t>(random.Below(kLevels16 + 1));
      sums.push_back({gradient, hessian});
      rows16.push_back(PackRow16(gradient, hessian));
      rows32.push_back({gradient, hessian});
    }
  }

  size_t rows;
  std::vector<uint32_t> counts;
  BinMatrix matrix;
  std::vector<std::vector<uint32_t>> bins;  // by row and feature
  std::vector<GradientSums> sums;           // by row
  std::vector<uint32_t> rows16;
  std::vector<Row32> rows32;
};

// Some of the rows, ascending.
inline std::vector<uint32_t> SomeRows(uint64_t seed, size_t rows, double share) {
  Random random(seed);
  std::vector<uint32_t> chosen;
  for (size_t row = 0; row < rows; ++row) {
    if (random.Chance(share)) chosen.push_back(static_cast<uint32_t>(row));
  }
  return chosen;
}

}  // namespace strata
