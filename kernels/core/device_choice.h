// Where something is to run, as a person says it.
#pragma once

#include <optional>
#include <string_view>

#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

struct DeviceChoice {
  // Nothing: on a GPU where there is one that will do.
  std::optional<DeviceKind> kind = DeviceKind::kCpu;
  std::optional<int> ordinal = {};  // the one GPU; nothing: whichever this process sees

  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

// "auto", "cpu", "cuda" or "cuda:N". kInvalid names what was found.
Result<DeviceChoice> ParseDevice(std::string_view text);

}  // namespace strata
