// Settings of a job beside a saved model that it is to use: what the model holds cannot be chosen
// anew.
#pragma once

#include <string>

#include "strata/status.h"
#include "worker/ctr/model_file.h"
#include "worker/job/job.h"

namespace strata {

// kInvalid when the job sets a key to another value than the model in `folder` was trained with:
// names the place, the key and both values. Keys that the job leaves at their defaults do not
// count. Features are compared where the data is opened.
Status CheckModelSettings(const JobConfig& job, const SavedModel& model, const std::string& folder);

}  // namespace strata
