// What a job file of CatBoost's trees asks for: gbdt.algorithm = "catboost".
#pragma once

#include <span>
#include <string>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/job/job.h"
#include "worker/tasks/catboost/apply_task.h"
#include "worker/tasks/catboost/fit_options.h"

namespace strata {

// Of a job with JobConfig::catboost. kInvalid: file:line, a parameter that is not known, is of
// LightGBM, is not there yet, or does not fit the others.
Result<FitOptions> FitOptionsOfJob(const JobConfig& job);
// The same of the tasks evaluate and predict.
Result<ApplyOptions> ApplyOptionsOfJob(const JobConfig& job, const std::string& task);

// The status `of` loading a job. Where it is kInvalid because a job of LightGBM's trees has keys of
// CatBoost, kInvalid that says so.
Status WithCatBoostLook(Disk& disk, const std::string& path, std::span<const std::string> overrides,
                        const Status& of);

}  // namespace strata
