// HostStore: the TableStore of one process, on HostTables.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "storage/memory/local_store.h"

namespace strata {

struct HostStoreOptions {
  // Index and rows of all tables together. Making a row beyond it is kRefused; all else goes on.
  uint64_t memory_bytes_max = UINT64_MAX;
  const Clock* clock = &RealClock();  // judges deadlines; outlives the store
  // They help with large lookups and updates, and outlive the store; null: the calling thread works
  // alone.
  WorkPool* threads = nullptr;
};

std::unique_ptr<LocalStore> MakeHostStore(HostStoreOptions options = {});

}  // namespace strata
