// MonotoneLeaves: values of an oblivious tree's leaves that rise or fall with the features whose
// splits say so, as CatBoost makes them (private/libs/algo/monotonic_constraint_utils.cpp of its
// sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

// Immutable; any number of threads.
class MonotoneLeaves {
 public:
  // Of each split of a tree the direction of its feature: 1, values rise with it; -1, they fall;
  // 0, they are free. Bit k of a leaf's number is that of split k.
  //
  // Leaves that differ in directed splits alone are a chain, along which values may not fall. All
  // leaves of a chain have an order, the first directed split before the others. This asks for more
  // than the features do.
  explicit MonotoneLeaves(std::span<const int8_t> directions);

  // Replaces values, one a leaf, by those that do not fall along the chains, and whose squared
  // distance to the old ones, times the weights, which are above 0, is the smallest.
  void Project(std::span<const double> weights, std::span<double> values) const;

 private:
  size_t chain_ = 1;              // leaves of a chain
  std::vector<uint32_t> leaves_;  // chain after chain, from the lowest value on
};

}  // namespace strata
