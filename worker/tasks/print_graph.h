// --print-graph: the layers of a job's model, for people and programs.
#pragma once

#include <string>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/job/job.h"
#include "worker/model/layer_graph.h"
#include "worker/tasks/options.h"

namespace strata {

// Writes them to standard output. Formats whose rows name their features cost a pass over
// data.train, to find the slots. kInvalid: the job describes no model.
Status PrintGraph(Disk& disk, const WorkerOptions& options);

// The sections of a job file that say the job's model layer by layer: [model], [[table]] where the
// job has tables, and [[layer]]. In the place of the job's own they give the same model, but for
// logistic regression, whose rows have no vectors.
std::string GraphSections(const JobConfig& job, const LayerGraph& graph);

}  // namespace strata
