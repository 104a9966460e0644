// The GPU store (strata/gpu/gpu_store.h) as the LocalStore that it is.
#pragma once

#include <memory>

#include "base/clock.h"
#include "storage/memory/local_store.h"
#include "strata/gpu/gpu_store.h"

namespace strata {

// `clock` judges deadlines, and outlives the store.
Result<std::unique_ptr<LocalStore>> MakeLocalGpuStore(const GpuStoreOptions& options,
                                                      const Clock& clock = RealClock());

}  // namespace strata
