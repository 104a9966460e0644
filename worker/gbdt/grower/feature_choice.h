// Which features a tree, and a node of it, may be split by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

// Of each feature, whether it is among the `fraction` of all (at least one) that the seed and the
// tree's number choose.
std::vector<uint8_t> FeaturesOfTree(size_t features, double fraction, uint64_t seed,
                                    uint64_t tree_number);

// Of each feature, whether it is among the `wanted` of the candidates (flags) that the node's seed
// (NodeSeed) chooses.
std::vector<uint8_t> FeaturesOfNode(std::span<const uint8_t> candidates, size_t wanted,
                                    uint64_t node_seed);

}  // namespace strata
