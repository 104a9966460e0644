// The optimizers' rules, each written once for the host and for GPUs, fp32 throughout.
// strata/optimizer_spec.h has the formulas; names here are its letters. A rule sees a row's summed
// gradient as gradient_shape.h leaves it.
//
// State of a row or span of n elements: one array of n floats for each letter, in the formulas'
// order: | m: n | v: n |; row-wise AdaGrad's is one float. A rule's call takes the address of the
// element's first state and the distance n to the next one; kStates: how many. A rule that needs
// something of its row says so (kNeeds), and what runs on the elements is what its ForRow returns.
//
// Which NaN a result is that is no number depends on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/math.h"
#include "kernels/optim/learning_rate.h"
#include "strata/host_device.h"
#include "strata/optimizer_spec.h"

namespace strata {

enum class RowNeed : uint8_t {
  kNothing,     // the rule runs on elements as it is
  kLastStep,    // rule.ForRow(time of the row's last update, 0: none)
  kMeanSquare,  // rule.ForRow(mean of g^2, first state): what it returns has the `first_state` that
                // the row's becomes
};

struct SgdRule {
  static constexpr uint32_t kStates = 0;
  static constexpr RowNeed kNeeds = RowNeed::kNothing;
  float learning_rate;

  STRATA_HD void operator()(float g, float& w, float* /*state*/, size_t /*distance*/) const {
    w -= learning_rate * g;
  }
};

struct MomentumRule {
  static constexpr uint32_t kStates = 1;
  static constexpr RowNeed kNeeds = RowNeed::kNothing;
  float learning_rate;
  float momentum;

  STRATA_HD void operator()(float g, float& w, float* state, size_t /*distance*/) const {
    const float m = momentum * state[0] - learning_rate * g;
    state[0] = m;
    w += m;
  }
};

struct NesterovRule {
  static constexpr uint32_t kStates = 1;
  static constexpr RowNeed kNeeds = RowNeed::kNothing;
  float learning_rate;
  float momentum;

  STRATA_HD void operator()(float g, float& w, float* state, size_t /*distance*/) const {
    const float before = state[0];
    const float a = momentum * before - learning_rate * g;
    state[0] = a;
    w += (1.0F + momentum) * a - momentum * before;
  }
};

struct AdaGradRule {
  static constexpr uint32_t kStates = 1;
  static constexpr RowNeed kNeeds = RowNeed::kNothing;
  float learning_rate;
  float epsilon;

  STRATA_HD void operator()(float g, float& w, float* state, size_t /*distance*/) const {
    const float n = state[0] + g * g;
    state[0] = n;
    w -= learning_rate * g / (math::Sqrt(n) + epsilon);
  }
};

struct RowwiseAdaGradRule {
  static constexpr uint32_t kStates = 0;
  static constexpr RowNeed kNeeds = RowNeed::kMeanSquare;
  float learning_rate;
  float epsilon;

  struct OfRow {
    float rate;
    float first_state;

    STRATA_HD void operator()(float g, float& w, float* /*state*/, size_t /*distance*/) const {
      w -= rate * g;
    }
  };
  STRATA_HD OfRow ForRow(double mean_square, float before) const {
    const float n = before + static_cast<float>(mean_square);
    return {learning_rate / (math::Sqrt(n) + epsilon), n};
  }
};

struct RmsPropRule {
  static constexpr uint32_t kStates = 1;
  static constexpr RowNeed kNeeds = RowNeed::kNothing;
  float learning_rate;
  float epsilon;
  float rho;

  STRATA_HD void operator()(float g, float& w, float* state, size_t /*distance*/) const {
    const float v = rho * state[0] + (1.0F - rho) * g * g;
    state[0] = v;
    w -= learning_rate * g / (math::Sqrt(v) + epsilon);
  }
};

struct FtrlRule {
  static constexpr uint32_t kStates = 2;
  static constexpr RowNeed kNeeds = RowNeed::kNothing;
  static constexpr float kRootShift = 0x1p-23F;  // e
  float learning_rate;
  float l1;
  float l2;
  float beta;

  STRATA_HD void operator()(float g, float& w, float* state, size_t distance) const {
    const float n = state[0] + g * g;
    const float root = math::Sqrt(n + kRootShift);
    const float root_before = math::Sqrt(state[0] + kRootShift);
    const float sigma = g * (g / ((root + root_before) * learning_rate));  // g^2 may be infinite
    const float z = state[distance] + (g - sigma * w);
    state[0] = n;
    state[distance] = z;
    const float size = z < 0.0F ? -z : z;
    const float bound = z < 0.0F ? -l1 : l1;
    const float moved = (bound - z) / ((root + beta) / learning_rate + l2);
    w = size <= l1 ? 0.0F : moved;
  }
};

struct AdamRule {
  static constexpr uint32_t kStates = 2;
  static constexpr RowNeed kNeeds = RowNeed::kNothing;
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

struct LazyAdamRule {
  static constexpr uint32_t kStates = 2;
  static constexpr RowNeed kNeeds = RowNeed::kLastStep;
  uint64_t step;  // t
  double learning_rate;
  float epsilon;
  float beta1;
  float beta2;

  struct OfRow {
    float alpha;  // of the steps since the row's last update, together
    float epsilon;
    float kept1;  // b1^k
    float kept2;  // b2^k
    float added1;
    float added2;

    STRATA_HD void operator()(float g, float& w, float* state, size_t distance) const {
      const float m = state[0];
      const float v = state[distance];
      w -= alpha * m / (math::Sqrt(v) + epsilon);
      state[0] = kept1 * m + added1 * g;
      state[distance] = kept2 * v + added2 * g * g;
    }
  };
  STRATA_HD OfRow ForRow(uint64_t last_step) const {
    const uint64_t p = last_step == 0 ? 1 : last_step;
    const uint64_t k = step > p ? step - p : 0;
    const double kept1 = math::Power(beta1, k);
    const double kept2 = math::Power(beta2, k);
    const double corrected =
        math::Sqrt(1.0 - math::Power(beta2, p)) / (1.0 - math::Power(beta1, p));
    const double alpha = learning_rate / (1.0 - beta1) * corrected * (1.0 - kept1);
    return {static_cast<float>(alpha), epsilon,      static_cast<float>(kept1),
            static_cast<float>(kept2), 1.0F - beta1, 1.0F - beta2};
  }
};

// Calls visit(rule) with the rule of `spec` at time `step` (1 or more).
template <typename Visit>
void WithRule(const OptimizerSpec& spec, uint64_t step, Visit&& visit) {
  const double exact_rate = LearningRateAt(spec, step);
  const auto rate = static_cast<float>(exact_rate);
  switch (spec.kind) {
    case OptimizerKind::kSgd:
      visit(SgdRule{rate});
      return;
    case OptimizerKind::kAdaGrad:
      visit(AdaGradRule{rate, spec.epsilon});
      return;
    case OptimizerKind::kAdam: {
      const double scale =
          math::Sqrt(1.0 - math::Power(spec.beta2, step)) / (1.0 - math::Power(spec.beta1, step));
      visit(AdamRule{static_cast<float>(exact_rate * scale), spec.epsilon, spec.beta1, spec.beta2});
      return;
    }
    case OptimizerKind::kMomentum:
      visit(MomentumRule{rate, spec.momentum});
      return;
    case OptimizerKind::kNesterov:
      visit(NesterovRule{rate, spec.momentum});
      return;
    case OptimizerKind::kRowwiseAdaGrad:
      visit(RowwiseAdaGradRule{rate, spec.epsilon});
      return;
    case OptimizerKind::kRmsProp:
      visit(RmsPropRule{rate, spec.epsilon, spec.rho});
      return;
    case OptimizerKind::kFtrl:
      visit(FtrlRule{rate, spec.l1, spec.l2, spec.beta});
      return;
    case OptimizerKind::kLazyAdam:
      visit(LazyAdamRule{step, exact_rate, spec.epsilon, spec.beta1, spec.beta2});
      return;
  }
}

}  // namespace strata
