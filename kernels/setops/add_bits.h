// A full adder of 32 columns at once.
#pragma once

#include <cstdint>

#include "strata/host_device.h"

namespace strata {

// Adds the bits of a and b to those of sum, which keeps the last digit; what is carried.
STRATA_HD uint32_t AddBits(uint32_t& sum, uint32_t a, uint32_t b) {
  const uint32_t either = sum ^ a;
  const uint32_t carry = (sum & a) | (either & b);
  sum = either ^ b;
  return carry;
}

}  // namespace strata
