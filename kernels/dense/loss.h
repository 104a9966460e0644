// Binary cross entropy on logits z with labels y in {0, 1} and sample weights:
//   loss = weight * (max(z, 0) - z * y + log(1 + exp(-|z|))),  dloss/dz = weight * (sigmoid(z) -
//   y).
#pragma once

#include <span>

#include "strata/exec.h"

namespace strata {

// One sample's loss without its weight; never infinite for a finite z.
double CrossEntropy(double z, double label);

// The losses' sum in sample order; dlogits gets each sample's gradient, not divided by anything.
double CrossEntropyWithLogits(const Exec& exec, std::span<const float> logits,
                              std::span<const float> labels, std::span<const float> weights,
                              std::span<float> dlogits);

}  // namespace strata
