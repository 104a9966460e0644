// What people read of a reduction (strata/reduction.h).
#pragma once

#include <cstdint>
#include <string>

#include "strata/reduction.h"

namespace strata {

// "float sum", "custom of 24 bytes", "" for 0.
std::string DescribeReduction(uint16_t detail);

}  // namespace strata
