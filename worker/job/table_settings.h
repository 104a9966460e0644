// The [[table]]s of a job file.
#pragma once

#include <span>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// The keys of a [[table]].
std::span<const Setting> TableSettingRows();

// Fills JobConfig::tables, and puts the features of a table side by side; the job's features and
// embedding_dim are there already. kInvalid: file:line, and what cannot be.
Status ReadTables(const Settings& settings, JobConfig* job);

}  // namespace strata
