// Bin boundaries of a numeric feature from its distinct values and how often each occurs:
// LightGBM's greedy rules (its bin.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

// Ascending values and the rows that have each. Values of which one is the other's next float or
// nearer count as one, the larger.
struct DistinctValues {
  std::vector<double> values;
  std::vector<int64_t> rows;
};

// Of sorted values without zeros, and of `zeros` more rows with a 0.
DistinctValues FindDistinct(std::span<const double> sorted, size_t zeros);

// Upper bounds of at most max_bin bins, each of min_data_in_bin rows where that is possible: first
// of negative values, one bin for 0, then of positive values; the last is infinite. `rows`: of all
// values together.
std::vector<double> FindBounds(const DistinctValues& distinct, size_t max_bin, int64_t rows,
                               int64_t min_data_in_bin);

// The same around bounds that are given, which are taken in their order as long as there are bins;
// the bins that are left divide what lies between them.
std::vector<double> FindBoundsAround(const DistinctValues& distinct, std::span<const double> forced,
                                     size_t max_bin, int64_t rows, int64_t min_data_in_bin);

}  // namespace strata
