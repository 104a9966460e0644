// By what a network multiplies the row of each key of a batch: the weight that the data gives the
// key, divided by the number of keys of its bag where a table's combiner is the mean.
#pragma once

#include <span>
#include <vector>

#include "worker/data/batch/batch.h"
#include "worker/model/layer_graph.h"

namespace strata {

// The weights by key of the batch; empty: all are 1. They are those of the batch where every table
// sums or no bag of the others has two keys. Otherwise they are written to `scratch`. The batch has
// the graph's slots.
std::span<const float> NetworkKeyWeights(const LayerGraph& graph, const Batch& batch,
                                         std::vector<float>* scratch);

}  // namespace strata
