// How long it takes from a fault to the errors of it, for each kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace strata::soak {

class FaultTimes {
 public:
  // One cycle of a kind, and when each rank had its error; none where nothing fails.
  void Add(const std::string& kind, const std::vector<TimeNs>& times);

  std::string Table() const;  // lines of text
  std::string Json() const;   // members: "kill": {"cycles": 3, "errors": 9, "p50_ms": 1.5, ...}

 private:
  struct OfKind {
    uint64_t cycles = 0;
    std::vector<TimeNs> times;
    // The one that at least `share` of them do not exceed, in ms.
    double Percentile(double share) const;
  };
  std::map<std::string, OfKind> kinds_;
};

}  // namespace strata::soak
