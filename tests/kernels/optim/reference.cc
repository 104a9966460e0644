#include "tests/kernels/optim/reference.h"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

double Norm(const std::vector<double>& g) {
  double squares = 0;
  for (const double x : g) squares += x * x;
  return std::sqrt(squares);
}

std::vector<double> Shaped(const OptimizerSpec& spec, const std::vector<float>& gradient,
                           const std::vector<double>& value) {
  std::vector<double> g(gradient.begin(), gradient.end());
  const double bound = spec.clip_value;
  if (bound > 0) {
    for (double& x : g) x = std::clamp(x, -bound, bound);
  }
  const double norm = Norm(g);
  if (spec.clip_norm > 0 && norm > spec.clip_norm) {
    for (double& x : g) x *= spec.clip_norm / norm;
  }
  for (size_t i = 0; i < g.size(); ++i) g[i] += spec.weight_decay * value[i];
  return g;
}

}  // namespace

double ReferenceRate(const OptimizerSpec& spec, uint64_t step) {
  const auto t = static_cast<double>(step);
  const auto start = static_cast<double>(spec.decay_start);
  const auto steps = static_cast<double>(spec.decay_steps);
  if (step <= spec.warmup_steps) {
    return spec.learning_rate * t / static_cast<double>(spec.warmup_steps);
  }
  if (steps == 0 || t <= start) return spec.learning_rate;
  if (t > start + steps) return spec.end_learning_rate;
  return std::max<double>(
      spec.learning_rate * std::pow((start + steps - t) / steps, spec.decay_power),
      spec.end_learning_rate);
}

void ReferenceStep(const OptimizerSpec& spec, uint64_t step, const std::vector<float>& gradient,
                   ReferenceRow* row) {
  const size_t n = gradient.size();
  const auto t = static_cast<double>(step);
  const double lr = ReferenceRate(spec, step);
  const double eps = spec.epsilon, b1 = spec.beta1, b2 = spec.beta2;
  const std::vector<double> shaped = Shaped(spec, gradient, row->value);
  if (spec.kind == OptimizerKind::kRowwiseAdaGrad) {
    const double norm = Norm(shaped);
    row->state[0] += norm * norm / static_cast<double>(n);
  }
  const double p = row->last_step == 0 ? 1.0 : static_cast<double>(row->last_step);
  const double k = std::max(t - p, 0.0);
  for (size_t i = 0; i < n; ++i) {
    const double g = shaped[i];
    double& w = row->value[i];
    double* first = row->state.empty() ? nullptr : &row->state[i % row->state.size()];
    double* second = row->state.size() == 2 * n ? &row->state[n + i] : nullptr;
    switch (spec.kind) {
      case OptimizerKind::kSgd:
        w -= lr * g;
        break;
      case OptimizerKind::kMomentum:
        *first = spec.momentum * *first - lr * g;
        w += *first;
        break;
      case OptimizerKind::kNesterov: {
        const double before = *first;
        *first = spec.momentum * before - lr * g;
        w += -spec.momentum * before + (1.0 + spec.momentum) * *first;
        break;
      }
      case OptimizerKind::kAdaGrad:
        *first += g * g;
        w -= lr * g / (std::sqrt(*first) + eps);
        break;
      case OptimizerKind::kRowwiseAdaGrad:
        w -= lr * g / (std::sqrt(row->state[0]) + eps);
        break;
      case OptimizerKind::kRmsProp:
        *first = spec.rho * *first + (1.0 - spec.rho) * g * g;
        w -= lr * g / (std::sqrt(*first) + eps);
        break;
      case OptimizerKind::kFtrl: {
        constexpr double kShift = 1.1920928955078125e-7;
        const double after = *first + g * g;
        const double sigma = (std::sqrt(after + kShift) - std::sqrt(*first + kShift)) / lr;
        *second += g - sigma * w;
        const double z = *second;
        w = std::fabs(z) <= spec.l1
                ? 0.0
                : ((z < 0 ? -1.0 : 1.0) * spec.l1 - z) /
                      (std::sqrt(after + kShift) / lr + spec.l2 + spec.beta / lr);
        *first = after;
        break;
      }
      case OptimizerKind::kAdam:
        *first = b1 * *first + (1 - b1) * g;
        *second = b2 * *second + (1 - b2) * g * g;
        w -= lr * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t)) * *first /
             (std::sqrt(*second) + eps);
        break;
      case OptimizerKind::kLazyAdam:
        w -= lr / (1 - b1) * std::sqrt(1 - std::pow(b2, p)) / (1 - std::pow(b1, p)) *
             (1 - std::pow(b1, k)) * *first / (std::sqrt(*second) + eps);
        *first = std::pow(b1, k) * *first + (1 - b1) * g;
        *second = std::pow(b2, k) * *second + (1 - b2) * g * g;
        break;
    }
  }
  row->last_step = step;
}

}  // namespace strata
