// A TableStore in the memory of this process.
#pragma once

#include <cstdint>
#include <memory>

#include "strata/table_store.h"

namespace strata {

struct LocalStoreOptions {
  // Index and rows of all tables together. Making a row beyond it is kRefused; all else goes on.
  uint64_t memory_bytes_max = UINT64_MAX;
};

// An empty store. Thread-safe. Every operation runs inside Submit, on the calling thread. Nothing
// is kept when the store goes: a store that keeps its rows is a cluster of one server.
std::unique_ptr<TableStore> MakeLocalStore(const LocalStoreOptions& options = {});

}  // namespace strata
