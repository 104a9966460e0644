#include "kernels/optim/learning_rate.h"

#include <algorithm>

#include "kernels/core/math.h"

namespace strata {

double LearningRateAt(const OptimizerSpec& spec, uint64_t step) {
  const double base = spec.learning_rate;
  if (step <= spec.warmup_steps) {
    return base * static_cast<double>(step) / static_cast<double>(spec.warmup_steps);
  }
  if (spec.decay_steps == 0 || step <= spec.decay_start) return base;
  const uint64_t decayed = step - spec.decay_start;
  if (decayed >= spec.decay_steps) return spec.end_learning_rate;
  const double left =
      static_cast<double>(spec.decay_steps - decayed) / static_cast<double>(spec.decay_steps);
  const double factor = math::Exp(spec.decay_power * math::Log(left));
  return std::max<double>(base * factor, spec.end_learning_rate);
}

}  // namespace strata
