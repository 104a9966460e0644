// How figures are taken: contenders take turns, so that whatever else the machine does meets all of
// them, and the median of several rounds counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"

namespace strata::bench {

// Runs `count` units of its work (batches, say) and returns when they are done.
using Work = std::function<Status(uint64_t count)>;

// How many units of its work take about `time` once it has warmed up, and at least one; finding out
// takes about as long or longer, and warms up. Time is `clock`'s.
Result<uint64_t> CountFor(const Work& work, TimeNs time, const Clock& clock = RealClock());

struct Contender {
  std::string name;
  Work work;  // null: not there; its rate is 0
};

// Units a second of each contender: the median over `rounds`, in each of which every contender runs
// for about `round`. CountFor comes before.
Result<std::vector<double>> MeasureRates(const std::vector<Contender>& contenders, int rounds,
                                         TimeNs round);

double Median(std::vector<double> values);                     // of at least one
double Quantile(std::vector<double> values, double quantile);  // nearest rank

}  // namespace strata::bench
