// How a finished task is told: a JSON object for programs, a table for people.
#pragma once

#include <string>

#include "worker/tasks/tasks.h"

namespace strata {

// {"task":"train","samples":...,"seconds":...,"samples_per_second":...,"metrics":{...},...}
std::string ResultJson(const WorkerOptions& options, const TaskResult& result, int workers,
                       int servers);
std::string ResultTable(const WorkerOptions& options, const TaskResult& result, int workers,
                        int servers);

}  // namespace strata
