// NCCL's errors as a Status.
#pragma once

#include <fmt/format.h>
#include <nccl.h>

#include "strata/status.h"

namespace strata {

inline Status FromNccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) return {};
  const std::string text = fmt::format("{}: NCCL: {}", what, ncclGetErrorString(result));
  if (result == ncclRemoteError) return Lost(text);
  const bool usage = result == ncclInvalidArgument || result == ncclInvalidUsage;
  return usage ? Invalid(text) : Failed(text);
}

}  // namespace strata
