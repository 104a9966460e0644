// CategoryOf says what a value of a categorical feature is, for training, prediction and models.
#pragma once

#include <cstdint>

#include "strata/host_device.h"

namespace strata {

constexpr int32_t kNoCategory = -1;

// The category's number, which is the value without its fraction, as in LightGBM: all of (-1, 1) is
// category 0. kNoCategory: the value is missing (NaN), not above -1, or at least 2^31.
STRATA_HD int32_t CategoryOf(double value) {
  return value > -1 && value < 2147483648.0 ? static_cast<int32_t>(value) : kNoCategory;
}

}  // namespace strata
