// The settings data.raw_* of a job file: what a raw record holds.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// Fills JobConfig::data of a job with data.format = "raw". kInvalid: file:line, a value that cannot
// be, or a setting that has no effect on such records.
Status ReadRawSettings(const Settings& settings, JobConfig* job);

// kInvalid for one that is set: the job's data.format is another.
Status RefuseRawSettings(const Settings& settings);

}  // namespace strata
