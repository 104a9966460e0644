// Which optimizer updates a parameter, and with what constants. The formulas are in
// kernels/optim/rules.h.
#pragma once

#include <cstdint>

namespace strata {

// The numbers travel on the wire and to disk: never change or reuse one.
enum class OptimizerKind : uint8_t { kSgd = 1, kAdaGrad = 2, kAdam = 3 };

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  float learning_rate = 0.01F;
  float epsilon = 1e-7F;             // AdaGrad, Adam
  float beta1 = 0.9F;                // Adam
  float beta2 = 0.999F;              // Adam
  float initial_accumulator = 0.0F;  // AdaGrad

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

}  // namespace strata
