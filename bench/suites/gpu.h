// The suites that run on a GPU.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/figure.h"
#include "kernels/core/device_choice.h"
#include "strata/status.h"

namespace strata::bench {

// Makes GPU `ordinal` that of the calling thread; what it is called. kNotFound in a build without
// CUDA, and where there is no such GPU.
Result<std::string> UseGpu(int ordinal);
// In a build without CUDA those whose cases it can name, and not run.
// `choice`: what --device said; the service suite takes all GPUs where it names none.
std::vector<Suite> GpuSuites(const DeviceChoice& choice);

}  // namespace strata::bench
