#include "ps/service/search_means.h"

#include <algorithm>
#include <thread>

#include "storage/itemset/measure_rates.h"

namespace strata {

Result<std::unique_ptr<ServerSearch>> ServerSearch::Start(int lanes, const Clock& clock) {
  std::unique_ptr<ServerSearch> made(new ServerSearch(clock));
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int helpers = std::max(0, processors - 2 * lanes);
  made->threads_ = static_cast<size_t>(1 + helpers / lanes);
  STRATA_ASSIGN(made->pool_, WorkPool::Start("search", helpers));
  return made;
}

SearchMeans ServerSearch::Means() {
  std::call_once(asked_, [this] {
    measurer_ = std::jthread([this] {
      rates_ = MeasureSearchRates(clock_);
      measured_.store(&rates_, std::memory_order_release);
    });
  });
  return {.rates = {},
          .pool = pool_.get(),
          .threads = threads_,
          .clock = &clock_,
          .gpu = nullptr,
          .measured = &measured_};
}

}  // namespace strata
