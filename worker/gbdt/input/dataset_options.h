// How parameters have rows become bins.
#pragma once

#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// For one process. Ranks, the GPU and forced bounds, which are in a file, are left to the caller.
DatasetOptions DatasetOptionsOf(const TreeParameters& parameters);

}  // namespace strata
