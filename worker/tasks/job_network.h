// The network of a job, on the device that the job names.
#pragma once

#include <memory>

#include "strata/status.h"
#include "worker/job/job.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

// `threads` of this process may work on one matrix product of the CPU. kNotFound: there is no such
// GPU, or the build has no CUDA; kRefused: the GPU has no memory. The message names the setting.
Result<std::unique_ptr<Network>> MakeJobNetwork(const JobConfig& job, LayerGraph graph,
                                                int threads);

}  // namespace strata
