#include "worker/gbdt/grower/feature_choice.h"

#include <algorithm>

#include "kernels/tree/split/node_draw.h"

namespace strata {

std::vector<uint8_t> FeaturesOfTree(size_t features, double fraction, uint64_t seed,
                                    uint64_t tree_number) {
  std::vector<uint8_t> all(features, 1);
  if (fraction >= 1) return all;
  return FeaturesOfNode(all, ShareOfFeatures(features, fraction), Mix64(Mix64(seed) + tree_number));
}

std::vector<uint8_t> FeaturesOfNode(std::span<const uint8_t> candidates, size_t wanted,
                                    uint64_t node_seed) {
  std::vector<uint8_t> chosen(candidates.begin(), candidates.end());
  std::vector<size_t> order;
  for (size_t f = 0; f < candidates.size(); ++f) {
    if (candidates[f] != 0) order.push_back(f);
  }
  if (wanted >= order.size()) return chosen;
  const auto first_out = order.begin() + static_cast<ptrdiff_t>(wanted);
  std::nth_element(order.begin(), first_out, order.end(), [node_seed](size_t a, size_t b) {
    return FeatureDraw(node_seed, a) < FeatureDraw(node_seed, b);
  });
  for (auto out = first_out; out != order.end(); ++out) chosen[*out] = 0;
  return chosen;
}

}  // namespace strata
