// What a server's collections are searched with: its processors, and what they were measured to do.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

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

  // The first call begins to measure the machine, on a thread of its own for some tenths of a
  // second; until then plans are made by the rates of another one.
  SearchMeans Means();

 private:
  explicit ServerSearch(const Clock& clock) : clock_(clock) {}

  const Clock& clock_;
  size_t threads_ = 1;  // of a search
  std::unique_ptr<WorkPool> pool_;
  std::once_flag asked_;
  SearchRates rates_;  // the measurer's, until they are published
  std::atomic<const SearchRates*> measured_ = nullptr;
  std::jthread measurer_;  // last: it ends before what it uses
};

}  // namespace strata
