// Trees' names for memory of the GPU and of the host.
#pragma once

#include "kernels/core/device_memory.cuh"

namespace strata::gpu_tree {

using strata::DeviceMemory;
using strata::GrowingMemory;
using strata::PinnedMemory;

}  // namespace strata::gpu_tree
