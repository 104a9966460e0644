#include "kernels/dense/loss.h"

#include <cstddef>

#include "kernels/core/math.h"
#include "strata/status.h"

namespace strata {

double CrossEntropy(double z, double label) { return math::Softplus(z) - z * label; }

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
    dlogits[i] = static_cast<float>(weight * (math::Sigmoid(z) - labels[i]));
  }
  return loss;
}

}  // namespace strata
