#include "tests/soak/links/fault_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata::soak {

void FaultTimes::Add(const std::string& kind, const std::vector<TimeNs>& times) {
  OfKind& mine = kinds_[kind];
  ++mine.cycles;
  mine.times.insert(mine.times.end(), times.begin(), times.end());
}

double FaultTimes::OfKind::Percentile(double share) const {
  if (times.empty()) return 0;
  std::vector<TimeNs> sorted = times;
  std::ranges::sort(sorted);
  const double place = std::ceil(share * static_cast<double>(sorted.size()));
  const size_t index = static_cast<size_t>(std::max(place, 1.0)) - 1;
  return static_cast<double>(sorted[index]) / kMillisecond;
}

std::string FaultTimes::Table() const {
  std::string text = fmt::format("{:16}{:>8}{:>8}{:>10}{:>10}{:>10}\n", "fault", "cycles", "errors",
                                 "p50 ms", "p99 ms", "max ms");
  for (const auto& [name, kind] : kinds_) {
    text += fmt::format("{:16}{:>8}{:>8}{:>10.1f}{:>10.1f}{:>10.1f}\n", name, kind.cycles,
                        kind.times.size(), kind.Percentile(0.5), kind.Percentile(0.99),
                        kind.Percentile(1));
  }
  return text;
}

std::string FaultTimes::Json() const {
  std::string members;
  for (const auto& [name, kind] : kinds_) {
    members +=
        fmt::format(R"({}"{}": {{"cycles": {}, "errors": {}, "p50_ms": {:.1f}, "p99_ms": {:.1f}, )"
                    R"("longest_ms": {:.1f}}})",
                    members.empty() ? "" : ", ", name, kind.cycles, kind.times.size(),
                    kind.Percentile(0.5), kind.Percentile(0.99), kind.Percentile(1));
  }
  return members;
}

}  // namespace strata::soak
