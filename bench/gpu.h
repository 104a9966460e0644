// The suites that run on a GPU.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/figure.h"

namespace strata::bench {

// Makes GPU `ordinal` that of the calling thread; what it is called. kNotFound in a build without
// CUDA, and where there is no such GPU.
Result<std::string> UseGpu(int ordinal);
std::vector<Suite> GpuSuites();

}  // namespace strata::bench
