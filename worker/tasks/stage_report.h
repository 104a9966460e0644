// StageReport: what the time of a training run went into, over all workers, and which stage limits
// it.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/clock.h"
#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/ctr/stage_times.h"

namespace strata {

// Seconds, over the workers.
struct OverWorkers {
  double mean = 0;
  double max = 0;
};

struct StageReport {
  int workers = 1;
  OverWorkers total;
  std::array<OverWorkers, kStages> stages;
  OverWorkers reading;  // that the readers ahead have read and parsed, beside the rest
  // The longest stage of the worker that waits the least for others, but for `other`: a shorter one
  // there would shorten the steps of all.
  Stage limit = Stage::kCompute;
};

// Every rank of the group gives its own times and gets the same report.
Result<StageReport> GatherStages(Group& group, const StageTimes& mine, TimeNs reading);

// "data 2 %, rows 20 %, compute 61 % (at most 70 %), ...": shares of the mean total.
std::string StageShares(const StageReport& report);
// "busy 40 % of the time".
std::string ReaderText(const StageReport& report);
// {"total": {"mean_seconds": .., "max_seconds": ..}, "data": .., .., "reading": .., "limit": ".."}.
nlohmann::ordered_json StagesJson(const StageReport& report);

}  // namespace strata
