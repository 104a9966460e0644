// Activation: the function that a layer applies to each of its numbers. The same on CPUs and GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/core/math.h"
#include "strata/host_device.h"

namespace strata {

enum class Activation : uint8_t { kNone, kRelu, kSigmoid, kTanh };

constexpr const char* ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kRelu:
      return "relu";
    case Activation::kSigmoid:
      return "sigmoid";
    case Activation::kTanh:
      return "tanh";
  }
  return "";
}

// Nothing: there is no activation of this name.
constexpr std::optional<Activation> ActivationOf(std::string_view name) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kSigmoid, Activation::kTanh}) {
    if (name == ActivationName(activation)) return activation;
  }
  return std::nullopt;
}

STRATA_HD float Activated(Activation activation, float x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x <= 0.0F ? 0.0F : x;  // what is no number stays none
    case Activation::kSigmoid:
      return math::Sigmoid(x);
    case Activation::kTanh:
      return static_cast<float>(2 * math::Sigmoid(2 * static_cast<double>(x)) - 1);
  }
  return x;
}

// The gradient of x, where the function gives y and dy is the gradient of that.
STRATA_HD float ActivatedBack(Activation activation, float y, float dy) {
  switch (activation) {
    case Activation::kNone:
      return dy;
    case Activation::kRelu:
      return y > 0.0F ? dy : 0.0F;
    case Activation::kSigmoid:
      return dy * (y * (1.0F - y));
    case Activation::kTanh:
      return dy * (1.0F - y * y);
  }
  return dy;
}

}  // namespace strata
