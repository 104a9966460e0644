// Cutting a numeric column into buckets that hold about as many rows each.
#pragma once

#include <cstddef>
#include <vector>

namespace strata {

// Ascending boundaries of at most `buckets` (at least 1) buckets: value x is in bucket i when
// boundaries[i - 1] <= x < boundaries[i]. The boundary between two values is their middle.
//
// When there are no more distinct values than buckets, each has its own. Else a value that alone
// holds more than its bucket's fair share of rows is kept apart, and the others share the buckets
// that are left; so a column that is mostly 0 still has its other values told apart (after
// LightGBM's greedy bin finding). The order of `values` does not matter; they are finite.
std::vector<double> CutBuckets(std::vector<double> values, size_t buckets);

}  // namespace strata
