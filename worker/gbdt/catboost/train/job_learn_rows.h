// The rows of a job file that CatBoost's trees are trained from, or measured on.
#pragma once

#include "strata/status.h"
#include "worker/gbdt/catboost/train/learn_rows.h"

namespace strata {

// ReadRowsToLearn and ReadRowsToTest of options with `of_job`. Lines that cannot be read are left
// out, and are an error once they are too many for the job. A label that does not fit the loss is
// one at once.
Result<LearnRows> ReadJobRowsToLearn(const LearnReader& reader, const PoolOptions& options,
                                     CatBoostModel* model);
Result<LearnRows> ReadJobRowsToTest(const LearnReader& reader, const PoolOptions& options,
                                    const CatBoostModel& model, const LearnedColumns& learned);

}  // namespace strata
