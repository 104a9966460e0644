// Random models and rows, which hit every kind of node.
#pragma once

#include <vector>

#include "base/random.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

struct RandomModelOptions {
  size_t features = 5;
  size_t classes = 1;
  size_t parallel = 1;  // trees of a class in a round
  size_t iterations = 1;
  size_t leaves = 8;
  bool categorical = false;  // half of the nodes
};

// Leaves within 1 of 0, thresholds among the values of RandomRows, infinities included, rows of
// nodes those of their children together.
TreeModel RandomModel(const RandomModelOptions& options, Random& random);

// Small numbers with halves, zeros, missing, infinite and very large values.
std::vector<std::vector<double>> RandomRows(size_t features, size_t count, Random& random);

}  // namespace strata
