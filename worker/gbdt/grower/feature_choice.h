// Which features a tree may be split by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

// Of each feature, whether it is among the `fraction` of all (at least one) that the seed and the
// tree's number choose.
std::vector<uint8_t> FeaturesOfTree(size_t features, double fraction, uint64_t seed,
                                    uint64_t tree_number);

}  // namespace strata
