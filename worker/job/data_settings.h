// Section [data] and the [[feature]]s of a job file.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// Fills the job's paths of data and JobConfig::data; JobConfig::file is set already. kInvalid:
// file:line, a value that cannot be, or one that contradicts the others.
Status ReadDataSettings(const Settings& settings, JobConfig* job);

}  // namespace strata
