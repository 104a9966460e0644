// Losses of what a network gives, z, with labels y and sample weights:
//   logloss  binary cross entropy on logits, y in {0, 1}:
//            loss = weight * (max(z, 0) - z * y + log(1 + exp(-|z|))),
//            dloss/dz = weight * (sigmoid(z) - y)
//   mse      loss = weight * (z - y)^2,  dloss/dz = 2 * weight * (z - y)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "strata/exec.h"

namespace strata {

enum class LossKind : uint8_t { kLogloss, kMse };
const char* LossKindName(LossKind kind);  // "logloss", "mse"
std::optional<LossKind> LossKindOf(std::string_view name);

// One sample's logloss without its weight; never infinite for a finite z.
double CrossEntropy(double z, double label);

// The losses' sum in sample order; dlogits gets each sample's gradient, not divided by anything.
double CrossEntropyWithLogits(const Exec& exec, std::span<const float> logits,
                              std::span<const float> labels, std::span<const float> weights,
                              std::span<float> dlogits);

// The same of the squared errors of predictions.
double SquaredErrors(const Exec& exec, std::span<const float> predictions,
                     std::span<const float> labels, std::span<const float> weights,
                     std::span<float> dpredictions);

}  // namespace strata
