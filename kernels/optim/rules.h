// The optimizers' rules, each written once for the host and for GPUs: arithmetic on one element,
// fp32 throughout. w weight, g gradient (already summed over the occurrences of a row), t = 1, 2,
// ... the optimizer's time, lr the learning rate.
//
//   SGD      w -= lr g                                                          no state
//   AdaGrad  n += g^2;  w -= lr g / (sqrt(n) + eps)                             state: n
//            (J. Duchi, E. Hazan, Y. Singer, JMLR 2011)
//   Adam     m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;                   state: m, v
//            w -= a_t m / (sqrt(v) + eps),  a_t = lr sqrt(1 - b2^t) / (1 - b1^t)
//            (D. Kingma, J. Ba, ICLR 2015, end of section 2: eps outside the bias correction.
//            Only the rows of a batch move; t counts batches, not touches of the row.)
//
// State of a row or span of n elements: one array of n floats for each letter, in the order above:
// | m: n | v: n |. A rule's call takes the address of the element's first state and the distance n
// to the next one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/host_device.h"
#include "kernels/core/math.h"
#include "kernels/optim/optimizer_spec.h"

namespace strata {

struct SgdRule {
  static constexpr uint32_t kStates = 0;
  float learning_rate;

  STRATA_HD void operator()(float g, float& w, float* /*state*/, size_t /*distance*/) const {
    w -= learning_rate * g;
  }
};

struct AdaGradRule {
  static constexpr uint32_t kStates = 1;
  float learning_rate;
  float epsilon;

  STRATA_HD void operator()(float g, float& w, float* state, size_t /*distance*/) const {
    const float n = state[0] + g * g;
    state[0] = n;
    w -= learning_rate * g / (math::Sqrt(n) + epsilon);
  }
};

struct AdamRule {
  static constexpr uint32_t kStates = 2;
  float alpha;  // a_t
  float epsilon;
  float beta1;
  float beta2;

  STRATA_HD void operator()(float g, float& w, float* state, size_t distance) const {
    const float m = beta1 * state[0] + (1.0F - beta1) * g;
    const float v = beta2 * state[distance] + (1.0F - beta2) * g * g;
    state[0] = m;
    state[distance] = v;
    w -= alpha * m / (math::Sqrt(v) + epsilon);
  }
};

// Calls visit(rule) with the rule of `spec` at time `step` (1 or more).
template <typename Visit>
void WithRule(const OptimizerSpec& spec, uint64_t step, Visit&& visit) {
  switch (spec.kind) {
    case OptimizerKind::kSgd:
      visit(SgdRule{spec.learning_rate});
      return;
    case OptimizerKind::kAdaGrad:
      visit(AdaGradRule{spec.learning_rate, spec.epsilon});
      return;
    case OptimizerKind::kAdam: {
      const double scale =
          math::Sqrt(1.0 - math::Power(spec.beta2, step)) / (1.0 - math::Power(spec.beta1, step));
      visit(AdamRule{static_cast<float>(spec.learning_rate * scale), spec.epsilon, spec.beta1,
                     spec.beta2});
      return;
    }
  }
}

}  // namespace strata
