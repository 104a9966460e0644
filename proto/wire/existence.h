// A PULL with the flag full: the reply's second frame says of each key, in a byte, whether it has a
// row (1) or its values are the initial ones (0).
#pragma once

#include <cstdint>

namespace strata::wire {

// Keys of such a request: a lane finds their rows one by one.
constexpr uint32_t kExistenceKeysMax = 1024;

}  // namespace strata::wire
