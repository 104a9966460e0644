// The file that predict writes: a line "row,probability" for each row of data.test, in its order,
// rows counted from 0 over all workers' shares. The probability is "nan" where the logit is. Of
// LossKind::kMse it is the prediction instead.
#pragma once

#include <span>
#include <string>

#include "base/file/disk.h"
#include "cluster/collective/group.h"
#include "kernels/dense/loss.h"
#include "strata/status.h"

namespace strata {

// `mine` are the logits of this rank's rows. Rank 0 writes, as WriteOutput does; every rank calls
// it and learns how it went.
Status WritePredictions(Disk& disk, const std::string& path, Group& group,
                        std::span<const float> mine, LossKind loss = LossKind::kLogloss);

}  // namespace strata
