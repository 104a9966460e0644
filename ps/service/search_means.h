// What a server's collections are searched with: its processors and GPUs, and what they were
// measured to do.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "storage/gpu/gpu_tables.h"
#include "storage/itemset/item_gpu.h"
#include "storage/itemset/planned_search.h"
#include "strata/status.h"

namespace strata {

struct ServerSearchOptions {
  int lanes = 1;
  std::vector<GpuLeft> gpus = {};  // that lanes take in turns; collections have a part of each
  std::optional<SearchRates> rates = std::nullopt;  // instead of measuring them
  const Clock* clock = &RealClock();
};

// Thread-safe. It outlives the collections.
class ServerSearch {
 public:
  // Each lane has a thread that searches, beside its own. Processors that are left help: a search
  // is divided, and waits for all of its parts, so that threads that have to share a processor
  // with others would hold it up.
  static Result<std::unique_ptr<ServerSearch>> Start(const ServerSearchOptions& options);

  // A line for each GPU: which part of its memory is for collections.
  const std::vector<std::string>& plan() const { return plan_; }

  // The lane's. The first call begins to measure the machine, on a thread of its own for some
  // tenths of a second; until then plans are made by the rates of another one.
  SearchMeans Means(uint16_t lane);

 private:
  explicit ServerSearch(const ServerSearchOptions& options) : options_(options) {}
  Status TakeGpus();
  void Measure();

  const ServerSearchOptions options_;
  size_t threads_ = 1;  // of a search
  std::unique_ptr<WorkPool> pool_;
  std::vector<std::string> plan_;
  std::vector<std::unique_ptr<ItemGpu>> gpus_;  // null: collections have no part of it
  std::once_flag asked_;
  std::array<SearchRates, 2> rates_;  // the measurer's, until they are published
  std::atomic<const SearchRates*> measured_ = nullptr;
  std::jthread measurer_;  // last: it ends before what it uses
};

}  // namespace strata
