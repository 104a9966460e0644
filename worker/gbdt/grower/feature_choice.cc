#include "worker/gbdt/grower/feature_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.h"

namespace strata {

std::vector<uint8_t> FeaturesOfTree(size_t features, double fraction, uint64_t seed,
                                    uint64_t tree_number) {
  if (fraction >= 1) return std::vector<uint8_t>(features, 1);
  std::vector<size_t> order(features);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto wanted = std::max<size_t>(
      1, static_cast<size_t>(std::llround(static_cast<double>(features) * fraction)));
  const uint64_t tree_seed = Mix64(Mix64(seed) + tree_number);
  std::ranges::sort(order, [tree_seed](size_t a, size_t b) {
    const uint64_t x = Mix64(tree_seed ^ Mix64(a));
    const uint64_t y = Mix64(tree_seed ^ Mix64(b));
    return x != y ? x < y : a < b;
  });
  std::vector<uint8_t> used(features, 0);
  for (size_t i = 0; i < std::min(wanted, features); ++i) used[order[i]] = 1;
  return used;
}

}  // namespace strata
