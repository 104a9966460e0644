#include "worker/gbdt/grower/feature_owners.h"

namespace strata {

// A feature belongs to the rank in whose share of all bins its middle lies.
void FeatureOwners::Deal(std::span<const uint8_t> used, std::span<const uint32_t> bins) {
  uint64_t all = 0;
  for (size_t f = 0; f < used.size(); ++f) all += used[f] != 0 ? bins[f] : 0;
  features_.clear();
  size_t rank = 0;
  uint64_t before = 0;
  begins_[0] = 0;
  for (size_t f = 0; f < used.size(); ++f) {
    if (used[f] == 0) continue;
    const uint64_t twice_middle = 2 * before + bins[f];
    while (twice_middle * ranks() >= 2 * all * (rank + 1) && rank + 1 < ranks()) {
      begins_[++rank] = features_.size();
    }
    features_.push_back(f);
    before += bins[f];
  }
  while (rank < ranks()) begins_[++rank] = features_.size();
}

}  // namespace strata
