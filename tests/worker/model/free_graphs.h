// Graphs of layers as a job file may name them: every kind of layer, in places where a graph is no
// chain.
#pragma once

#include <vector>

#include "worker/model/model_shape.h"

namespace strata {

std::vector<ModelShape> FreeGraphs();
// One of them, whose samples depend on each other in training.
ModelShape WithBatchNorm();
// Some whose slots have the mean of their keys' rows, single weights included.
std::vector<ModelShape> GraphsOfMeans();
// Some whose labels are numbers: of LossKind::kMse.
std::vector<ModelShape> GraphsOfNumbers();
// Some over several tables of rows.
std::vector<ModelShape> GraphsOfTables();

}  // namespace strata
