// All workers of a group must run the same job: their collectives follow from it, and each reads
// its part of the same files.
#pragma once

#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "cluster/collective/group.h"
#include "worker/job.h"

namespace strata {

// Compares every setting of the job, and the sizes of data.train (for the task "train") and
// data.test, with rank 0's; not paths, which may differ from machine to machine. kInvalid on every
// rank, with the first that differs and both values; likewise when a rank cannot open a file.
Status AgreeOnJob(Group& group, Disk& disk, const JobConfig& job, const std::string& task);

}  // namespace strata
