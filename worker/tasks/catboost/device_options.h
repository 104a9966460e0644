// Where the trees of a training grow, and which of CatBoost's defaults it has.
#pragma once

#include <cstddef>

#include "base/settings/settings.h"
#include "kernels/core/device_choice.h"
#include "strata/status.h"

namespace strata {

inline constexpr size_t kGpuBorders = 128;  // of a number, by default

// Whether defaults are those that CatBoost has on GPUs.
bool IsForGpus(const Settings& settings);

// kInvalid: `device` names none.
Result<DeviceChoice> ReadFitDevice(const Settings& settings);

}  // namespace strata
