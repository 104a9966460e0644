// Which files a job's data.train and data.test stand for.
#pragma once

#include <string>

#include "base/file/disk.h"
#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// Who reads data once can take it from standard input. kInvalid: the task, the model or the format
// reads it otherwise.
Status CheckStandardInput(const Settings& settings, const JobConfig& job, const std::string& task);

// Puts files in the place of the patterns. Data that the task does not read need not be there.
// kInvalid: what FindDataFiles says, after the key and where it is set, or several files for trees.
Status FindJobFiles(Disk& disk, const std::string& task, JobConfig* job);

}  // namespace strata
