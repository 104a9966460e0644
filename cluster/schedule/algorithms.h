// From an algorithm's name (strata/collective.h) to its schedule.
#pragma once

#include "cluster/schedule/schedule.h"
#include "strata/collective.h"

namespace strata {

// Where a rank stands, and what its operation depends on.
struct SchedulePlace {
  int world = 1;
  int rank = 0;
  int root = 0;    // of the operations that have one
  int pieces = 1;  // of Algorithm::kPipelined
};

// The operation must have the algorithm. kInputs is the schedule of its allgather.
Schedule MakeSchedule(Collective operation, Algorithm algorithm, const SchedulePlace& place);

}  // namespace strata
