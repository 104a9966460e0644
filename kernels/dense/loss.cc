#include "kernels/dense/loss.h"

#include <cstddef>

#include "kernels/core/math.h"
#include "strata/status.h"

namespace strata {
namespace {

// `slope` is that of `loss` by z; both are of one sample, without its weight.
template <typename Loss, typename Slope>
double SumLosses(std::span<const float> z, std::span<const float> labels,
                 std::span<const float> weights, std::span<float> dz, const Loss& loss,
                 const Slope& slope) {
  STRATA_CHECK(labels.size() == z.size() && weights.size() == z.size() && dz.size() == z.size());
  double sum = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    const double weight = weights[i];
    sum += weight * loss(double{z[i]}, double{labels[i]});
    dz[i] = static_cast<float>(weight * slope(double{z[i]}, double{labels[i]}));
  }
  return sum;
}

}  // namespace

const char* LossKindName(LossKind kind) { return kind == LossKind::kMse ? "mse" : "logloss"; }

std::optional<LossKind> LossKindOf(std::string_view name) {
  for (const LossKind kind : {LossKind::kLogloss, LossKind::kMse}) {
    if (name == LossKindName(kind)) return kind;
  }
  return std::nullopt;
}

double CrossEntropy(double z, double label) { return math::Softplus(z) - z * label; }

double CrossEntropyWithLogits(const Exec& /*exec*/, std::span<const float> logits,
                              std::span<const float> labels, std::span<const float> weights,
                              std::span<float> dlogits) {
  return SumLosses(logits, labels, weights, dlogits, CrossEntropy,
                   [](double z, double label) { return math::Sigmoid(z) - label; });
}

double SquaredErrors(const Exec& /*exec*/, std::span<const float> predictions,
                     std::span<const float> labels, std::span<const float> weights,
                     std::span<float> dpredictions) {
  return SumLosses(
      predictions, labels, weights, dpredictions,
      [](double z, double label) { return (z - label) * (z - label); },
      [](double z, double label) { return 2 * (z - label); });
}

}  // namespace strata
