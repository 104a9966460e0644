// What a pass over a graph requires of its arguments, on every device. A wrong size is a bug of the
// caller (STRATA_CHECK).
#pragma once

#include "worker/data/batch/batch.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

void CheckBatch(const LayerGraph& graph, const Batch& batch);
void CheckInput(const LayerGraph& graph, const NetworkInput& input);
void CheckGradients(const LayerGraph& graph, const NetworkInput& input,
                    const NetworkGradients& gradients);

// Makes the gradients of rows and parameters 0.
void ClearGradients(const NetworkGradients& gradients);

}  // namespace strata
