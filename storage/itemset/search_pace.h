// SearchPace: how far searches of a collection were from what was expected of them, of late. Rates
// are measured once, on data of their own and on what was then a more or less idle machine.
#pragma once

#include <array>
#include <cstddef>

#include "base/thread/mutex.h"
#include "kernels/setops/search_plan.h"

namespace strata {

struct SearchReport;

// Thread-safe.
class SearchPace {
 public:
  static constexpr double kMost = 8;  // ratios are between 1 / kMost and kMost

  struct Ratios {
    // By engine: what it takes (of processors, or of the GPU), by what its rates say. That of an
    // engine that is not chosen falls, to a third at most: it is tried again some time, where it
    // may be the faster one.
    std::array<double, kSearchEngines> of_engines = {1, 1, 1, 1};
    // Time that passes while a thread computes for a unit of it: more than 1 where threads wait for
    // processors.
    double waiting = 1;
  };
  Ratios Look() const;
  // What came of a search whose plan was made with report.ratios.
  void Note(const SearchReport& report);

 private:
  mutable Mutex mutex_;
  struct Engine {
    double log = 0;     // of the ratio, when it was chosen last
    size_t absent = 0;  // searches without it since
  };
  std::array<Engine, kSearchEngines> engines_ STRATA_GUARDED_BY(mutex_) = {};
  double waiting_log_ STRATA_GUARDED_BY(mutex_) = 0;
};

}  // namespace strata
