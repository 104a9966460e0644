// Combiner: how the rows of a bag, which is the keys of one slot of one sample, become one vector.
#pragma once

#include <cstdint>

namespace strata {

// kSum adds the rows, each times its key's weight; kMean divides that sum by the number of keys. An
// empty bag gives zeros.
enum class Combiner : uint8_t { kSum, kMean };

}  // namespace strata
