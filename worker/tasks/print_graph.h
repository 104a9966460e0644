// --print-graph: the layers of a job's model, for people and programs.
#pragma once

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/tasks/options.h"

namespace strata {

// Writes them to standard output. Formats whose rows name their features cost a pass over
// data.train, to find the slots. kInvalid: the job describes no model.
Status PrintGraph(Disk& disk, const WorkerOptions& options);

}  // namespace strata
