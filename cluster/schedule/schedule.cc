#include "cluster/schedule/schedule.h"

#include <algorithm>
#include <bit>

#include "strata/status.h"

namespace strata {

bool Overlap(const BlockSet& a, const BlockSet& b, int blocks) {
  bool common = false;
  VisitRuns(a, blocks, [&](int a_first, int a_count) {
    VisitRuns(b, blocks, [&](int b_first, int b_count) {
      common |= std::max(a_first, b_first) < std::min(a_first + a_count, b_first + b_count);
    });
  });
  return common;
}

Schedule Then(Schedule first, const Schedule& second) {
  STRATA_CHECK(first.world == second.world && first.rank == second.rank &&
               first.blocks == second.blocks);
  for (Step step : second.steps) {
    step.round += first.rounds;
    first.steps.push_back(step);
  }
  first.rounds += second.rounds;
  return first;
}

int CeilLog2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

int FloorLog2(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }

}  // namespace strata
