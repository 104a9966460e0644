// The [[table]]s of a job file.
#pragma once

#include <span>
#include <string>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// The keys of a [[table]] but for those of its optimizer (TableOptimizerRows).
std::span<const Setting> TableSettingRows();
// What other keys people may look for there.
std::span<const RefusedKey> RefusedTableKeys();

// Fills JobConfig::tables and table_optimizers, and puts the features of a table side by side; the
// job's features, embedding_dim and sparse_optimizer are there already. kInvalid: file:line, and
// what cannot be.
Status ReadTables(const Settings& settings, JobConfig* job);

// The [[table]] sections that give the job's tables; "" of a job without sections.
std::string TablesToToml(const JobConfig& job);

}  // namespace strata
