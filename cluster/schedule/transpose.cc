#include "cluster/schedule/transpose.h"

#include <algorithm>
#include <utility>

namespace strata {

Schedule Transposed(const Schedule& schedule, OnArrival on_arrival) {
  Schedule result = schedule;
  std::ranges::reverse(result.steps);
  for (Step& step : result.steps) {
    step.round = schedule.rounds - 1 - step.round;
    std::swap(step.to, step.from);
    std::swap(step.send, step.receive);
    step.on_arrival = on_arrival;
  }
  return result;
}

}  // namespace strata
