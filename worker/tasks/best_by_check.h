// Whether train.best_by can be computed of data.test, before any step is done.
#pragma once

#include <functional>

#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/job/job.h"

namespace strata {

// Goes over `test`, this rank's share of data.test, until its rows define the metric of
// train.best_by, which is soon but where all labels are of one class. Rewind it before other use.
// `check` is asked between batches. kInvalid, on all ranks: all rows together do not define it, as
// those of one class have no AUC. Errors of `test`, of `check` and of the group are passed on.
Status CheckBestBy(const JobConfig& job, BatchSource& test, Group& group,
                   const std::function<Status()>& check);

}  // namespace strata
