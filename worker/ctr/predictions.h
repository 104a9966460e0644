// The file that predict writes: a line "row,probability" for each row of data.test, in its order,
// rows counted from 0 over all workers' shares. The probability is "nan" where the logit is.
#pragma once

#include <span>
#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "cluster/collective/group.h"

namespace strata {

// Shows that the file can be written; one that is there stays as it is.
Status TryPredictions(Disk& disk, const std::string& path);

// `mine` are the logits of this rank's rows. Rank 0 writes; every rank calls it and learns how it
// went.
Status WritePredictions(Disk& disk, const std::string& path, Group& group,
                        std::span<const float> mine);

}  // namespace strata
