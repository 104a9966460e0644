// Section [data] and the [[feature]]s of a job file.
#pragma once

#include <string_view>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// Fills the job's paths of data and JobConfig::data; JobConfig::file is set already. kInvalid:
// file:line, a value that cannot be, or one that contradicts the others. data.columns need not name
// the label where the task predicts.
Status ReadDataSettings(const Settings& settings, const std::string& task, JobConfig* job);

// What data.format fixes by itself, and a setting of the job file says otherwise. `fixed` ends
// "whose ...".
Status Contradicts(const Settings& settings, std::string_view key, std::string_view fixed);

// Formats without columns have no settings of columns: kInvalid, as Contradicts has it, for one
// that is set.
Status RefuseColumns(const Settings& settings, std::string_view fixed);

}  // namespace strata
