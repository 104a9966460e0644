// Which algorithm of each collective is the fastest here: measured over ranks of ours on loopback.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/schedule/choice.h"
#include "strata/status.h"

namespace strata::bench {

// The times of all algorithms of a collective, in the order of AlgorithmsOf, at rising sizes; 0:
// not measured.
struct SizeTimes {
  uint64_t bytes = 0;
  std::vector<double> us;
};
// The same for one number of ranks.
struct CollectiveTimes {
  Collective operation = Collective::kAllreduce;
  int world = 2;
  std::vector<SizeTimes> sizes;
};

// Rules that say what was the fastest; between two measured sizes with different winners their
// geometric mean parts them. An algorithm goes on as long as none is more than a twentieth faster:
// less is noise. `times`: by operation, then by rising number of ranks; the last stands for all
// larger ones.
std::vector<ChoiceRule> RulesOf(const std::vector<CollectiveTimes>& times);

struct TuneOptions {
  std::vector<int> worlds = {2, 3, 4, 8};
  std::vector<uint64_t> sizes;  // rising
  int rounds = 5;
  TimeNs round = kSecond / 10;  // about how long an algorithm runs in each
  std::string congestion;
};

// The table as ChoiceTable::Parse reads it, behind comments that say what was measured where. Each
// finished line of the measurement goes to `say`.
Result<std::string> TuneCollectives(const TuneOptions& options,
                                    const std::function<void(const std::string&)>& say);

}  // namespace strata::bench
