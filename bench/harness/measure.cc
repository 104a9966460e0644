#include "bench/harness/measure.h"

#include <algorithm>
#include <cmath>

namespace strata::bench {
namespace {

// Seconds that `count` units took.
Result<double> Time(const Work& work, uint64_t count, const Clock& clock) {
  const TimeNs begin = clock.Now();
  STRATA_TRY(work(count));
  const TimeNs end = clock.Now();
  return static_cast<double>(std::max<TimeNs>(end - begin, 1)) / kSecond;
}

}  // namespace

Result<uint64_t> CountFor(const Work& work, TimeNs time, const Clock& clock) {
  constexpr uint64_t kMost = uint64_t{1} << 40;  // of work that takes no time
  const double seconds = static_cast<double>(time) / kSecond;
  uint64_t count = 1;
  double taken = 0;
  const auto scaled = [&] {
    const double units = static_cast<double>(count) * seconds / taken;
    return static_cast<uint64_t>(std::clamp<double>(units, 1, kMost));
  };
  for (;; count *= 2) {
    // The first time may be for memory that is taken once: by it few units would seem enough.
    STRATA_TRY(work(count));
    STRATA_ASSIGN(taken, Time(work, count, clock));
    if (taken * 10 >= seconds || count == kMost) break;
  }
  // So may a later one (a kernel is loaded, or more memory taken as more batches come together):
  // the count is right once so many units did take about so long.
  while (taken * 2 < seconds && count < kMost) {
    count = scaled();
    STRATA_ASSIGN(taken, Time(work, count, clock));
  }
  return scaled();
}

Result<std::vector<double>> MeasureRates(const std::vector<Contender>& contenders, int rounds,
                                         TimeNs round) {
  std::vector<uint64_t> counts(contenders.size());
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (!contenders[i].work) continue;
    auto count = CountFor(contenders[i].work, round);
    if (!count.ok()) return count.status().Prefixed(contenders[i].name);
    counts[i] = *count;
  }
  std::vector<std::vector<double>> rates(contenders.size());
  for (int n = 0; n < rounds; ++n) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (!contenders[i].work) continue;
      const auto taken = Time(contenders[i].work, counts[i], RealClock());
      if (!taken.ok()) return taken.status().Prefixed(contenders[i].name);
      rates[i].push_back(static_cast<double>(counts[i]) / *taken);
    }
  }
  std::vector<double> medians;
  for (const auto& of_one : rates) medians.push_back(of_one.empty() ? 0 : Median(of_one));
  return medians;
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

double Quantile(std::vector<double> values, double quantile) {
  STRATA_CHECK(!values.empty());
  const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(values.size())));
  const size_t at = std::clamp<size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace strata::bench
