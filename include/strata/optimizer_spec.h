// Which optimizer updates a parameter, and with what constants. The formulas are in
// kernels/optim/rules.h, gradient_shape.h and learning_rate.h.
#pragma once

#include <cstdint>

namespace strata {

// The numbers travel on the wire and to disk: never change or reuse one.
enum class OptimizerKind : uint8_t {
  kSgd = 1,
  kAdaGrad = 2,
  kAdam = 3,
  kMomentum = 4,
  kNesterov = 5,
  kRowwiseAdaGrad = 6,  // one accumulator a row
  kRmsProp = 7,
  kFtrl = 8,
  kLazyAdam = 9,  // makes up for the steps that did not touch the row
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  float learning_rate = 0.01F;
  float epsilon = 1e-7F;             // AdaGrad, row-wise AdaGrad, RMSProp, Adam, lazy Adam
  float beta1 = 0.9F;                // Adam, lazy Adam
  float beta2 = 0.999F;              // Adam, lazy Adam
  float initial_accumulator = 0.0F;  // AdaGrad, row-wise AdaGrad
  float momentum = 0.9F;             // momentum, Nesterov
  float rho = 0.9F;                  // RMSProp: decay of the mean squared gradient
  float l1 = 0.0F;                   // FTRL
  float l2 = 0.0F;                   // FTRL
  float beta = 0.0F;                 // FTRL

  // What happens to a row's summed gradient before any rule sees it (gradient_shape.h). 0: nothing.
  float clip_value = 0.0F;
  float clip_norm = 0.0F;
  float weight_decay = 0.0F;

  // How the learning rate follows the optimizer's time (learning_rate.h).
  uint64_t warmup_steps = 0;
  uint64_t decay_start = 0;
  uint64_t decay_steps = 0;  // 0: no decay, and the three others have no meaning
  float decay_power = 2.0F;
  float end_learning_rate = 0.0F;

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

}  // namespace strata
