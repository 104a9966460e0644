// All workers of a group must run the same job: their collectives follow from it.
#pragma once

#include <string>

#include "base/status.h"
#include "cluster/collective/group.h"
#include "worker/job.h"

namespace strata {

// Compares what decides the course of the job (not the paths of files, which may differ from
// machine to machine) with rank 0's. kInvalid on every rank, with the first setting that differs
// and both values.
Status AgreeOnJob(Group& group, const JobConfig& job, const std::string& task);

}  // namespace strata
