#include "kernels/dense/loss.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/status.h"

namespace strata {

double Sigmoid(double z) {
  const double e = std::exp(-std::abs(z));
  return z >= 0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

double CrossEntropy(double z, double label) {
  return std::max(z, 0.0) - z * label + std::log1p(std::exp(-std::abs(z)));
}

double CrossEntropyWithLogits(const Exec& /*exec*/, std::span<const float> logits,
                              std::span<const float> labels, std::span<const float> weights,
                              std::span<float> dlogits) {
  STRATA_CHECK(labels.size() == logits.size() && weights.size() == logits.size() &&
               dlogits.size() == logits.size());
  double loss = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double z = logits[i];
    const double weight = weights[i];
    loss += weight * CrossEntropy(z, labels[i]);
    dlogits[i] = static_cast<float>(weight * (Sigmoid(z) - labels[i]));
  }
  return loss;
}

}  // namespace strata
