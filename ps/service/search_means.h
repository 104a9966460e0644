// What a server's collections are searched with: its processors, and what they were measured to do.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "base/work_pool.h"
#include "storage/itemset/planned_search.h"

namespace strata {

// Thread-safe. It outlives the collections.
class ServerSearch {
 public:
  // Each lane has a thread that searches, beside its own. Processors that are left help: a search
  // is divided, and waits for all of its parts, so that threads that have to share a processor
  // with others would hold it up.
  static Result<std::unique_ptr<ServerSearch>> Start(int lanes, const Clock& clock);

  // Measures the machine at the first call, for some tenths of a second.
  SearchMeans Means();

 private:
  explicit ServerSearch(const Clock& clock) : clock_(clock) {}

  const Clock& clock_;
  size_t threads_ = 1;  // of a search
  std::unique_ptr<WorkPool> pool_;
  std::mutex mutex_;
  std::optional<SearchRates> rates_;  // guarded by mutex_
};

}  // namespace strata
