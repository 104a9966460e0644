#include "kernels/dense/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace strata {
namespace {

TEST(Loss, AgreesWithTheDefinitionWhereThatIsAccurate) {
  for (double z = -20; z <= 20; z += 0.37) {
    const double p = 1 / (1 + std::exp(-z));
    EXPECT_NEAR(CrossEntropy(z, 1), -std::log(p), 1e-8);
    EXPECT_NEAR(CrossEntropy(z, 0), -std::log(1 / (1 + std::exp(z))), 1e-8);
  }
}

TEST(Loss, GradientAgreesWithCentralDifferencesAndWeights) {
  const std::vector<float> logits = {-3.0F, -0.5F, 0.0F, 0.25F, 4.0F};
  const std::vector<float> labels = {0, 1, 1, 0, 1};
  const std::vector<float> weights = {1, 2, 0.5F, 3, 0};
  std::vector<float> dlogits(5);
  const double loss = CrossEntropyWithLogits({}, logits, labels, weights, dlogits);
  double expected = 0;
  for (size_t i = 0; i < 5; ++i) {
    expected += weights[i] * CrossEntropy(logits[i], labels[i]);
    const double step = 1e-6;
    const double slope =
        (CrossEntropy(logits[i] + step, labels[i]) - CrossEntropy(logits[i] - step, labels[i])) /
        (2 * step);
    EXPECT_NEAR(dlogits[i], weights[i] * slope, 1e-6);
  }
  EXPECT_DOUBLE_EQ(loss, expected);
}

TEST(Loss, ExtremeLogitsStayFinite) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> logits = {most, -most, most, -most, 1000.0F, -1000.0F};
  const std::vector<float> labels = {1, 0, 0, 1, 0, 1};
  const std::vector<float> weights(6, 1.0F);
  std::vector<float> dlogits(6);
  EXPECT_TRUE(std::isfinite(CrossEntropyWithLogits({}, logits, labels, weights, dlogits)));
  EXPECT_EQ(dlogits, (std::vector<float>{0, 0, 1, -1, 1, -1}));
}

TEST(Loss, SquaredErrorsAndTheirGradients) {
  const std::vector<float> predictions = {0.5F, -2.0F, 3.25F};
  const std::vector<float> labels = {0.25F, 4.0F, 3.25F};
  const std::vector<float> weights = {1.0F, 0.5F, 2.0F};
  std::vector<float> gradients(3);
  EXPECT_DOUBLE_EQ(SquaredErrors({}, predictions, labels, weights, gradients), 0.0625 + 18.0);
  EXPECT_EQ(gradients, (std::vector<float>{0.5F, -6.0F, 0.0F}));
}

TEST(Loss, KindsHaveNames) {
  for (const LossKind kind : {LossKind::kLogloss, LossKind::kMse}) {
    EXPECT_EQ(LossKindOf(LossKindName(kind)), kind);
  }
  EXPECT_EQ(LossKindOf("hinge"), std::nullopt);
}

}  // namespace
}  // namespace strata
