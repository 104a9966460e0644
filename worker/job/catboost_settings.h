// Job files of CatBoost's trees, which have gbdt.algorithm = "catboost". Their section [gbdt] has
// CatBoost's own parameters. Whoever trains the trees knows these, and checks them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// The rows of such a job: those of JobSettingsTable but for LightGBM's, in whose place [gbdt] is
// open.
const SettingsTable& CatBoostJobTable();

// What a job file and its overrides say by this table. What is wrong in them is passed over.
Settings LookIntoJob(std::string_view text, const std::string& file,
                     std::span<const std::string> overrides);

// Whether a job asks for CatBoost's trees.
bool AsksForCatBoost(const Settings& of_look);

// The parameters of a job of CatBoost's trees: those of [gbdt], and as `device` and `random_seed`
// what the job says elsewhere. The job's data section and paths have been read. kInvalid:
// file:line, a key without effect, one that has another place, several files, a task that there is
// not, or a path that the task needs.
Result<std::vector<OpenValue>> ReadCatBoostSettings(const Settings& settings, const JobConfig& job,
                                                    const std::string& task);

}  // namespace strata
