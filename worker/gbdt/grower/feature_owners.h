// FeatureOwners: which rank searches which feature, or block of features, of a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

class FeatureOwners {
 public:
  explicit FeatureOwners(size_t ranks) : begins_(ranks + 1, 0) {}

  // Deals used features (of each: whether it is, and its bins) to ranks in their order, nearly as
  // many bins to each.
  void Deal(std::span<const uint8_t> used, std::span<const uint32_t> bins);

  // A rank's used features, ascending.
  std::span<const size_t> Of(size_t rank) const {
    return std::span(features_).subspan(begins_[rank], begins_[rank + 1] - begins_[rank]);
  }
  size_t ranks() const { return begins_.size() - 1; }

 private:
  std::vector<size_t> features_;  // used ones
  std::vector<size_t> begins_;    // of each rank in features_, and their number
};

}  // namespace strata
