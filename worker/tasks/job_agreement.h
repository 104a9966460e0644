// All workers of a group must run the same job: their collectives follow from it, and each reads
// its part of the same files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file/disk.h"
#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/job/job.h"
#include "worker/tasks/job_data.h"

namespace strata {

// Compares every setting of the job, and the sizes of data.train (for the task "train") and
// data.test, with rank 0's; not paths, which may differ from machine to machine. kInvalid on every
// rank, with the first that differs and both values; likewise when a rank cannot open a file.
Status AgreeOnJob(Group& group, Disk& disk, const JobConfig& job, const std::string& task);

// What decides the bits of a training run, one "name = value" a line: the settings, the number of
// workers, the data. Two runs with equal fingerprints are one and the same, however many epochs
// each goes through.
std::string JobFingerprint(const JobConfig& job, int workers, const JobFeatures& data);

// Where two such texts differ first: {the line of `first`, the line of `second`}, "nothing more"
// for one that is at its end; nothing when they are equal.
std::optional<std::pair<std::string, std::string>> FirstDifference(std::string_view first,
                                                                   std::string_view second);

}  // namespace strata
