// The network of a job, on the device that the job names.
#pragma once

#include <memory>
#include <string>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/job/job.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

// `threads` help with a network on the CPU, and outlive it; null: the calling thread works alone.
// kNotFound: there is no such GPU, or the build has no CUDA; kRefused: the GPU has no memory. The
// message names the setting.
Result<std::unique_ptr<Network>> MakeJobNetwork(const JobConfig& job, LayerGraph graph,
                                                WorkPool* threads);

// How many threads work on what surrounds a network on this device (Network::device): `threads` as
// the command line says, and beside a GPU up to half of the processors.
int StepThreads(const std::string& device, int threads);

// That many threads, the calling one among them. Errors as WorkPool::Start.
Result<std::unique_ptr<WorkPool>> StartStepThreads(int threads);

}  // namespace strata
