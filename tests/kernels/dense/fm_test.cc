// Interactions against the sum over pairs in double precision, and their gradient against central
// differences of it.
#include "kernels/dense/fm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace strata {
namespace {

double PairSum(const FmShape& shape, const std::vector<float>& v, size_t sample) {
  double sum = 0;
  for (size_t s = 0; s < shape.slots; ++s) {
    for (size_t t = s + 1; t < shape.slots; ++t) {
      for (size_t d = 0; d < shape.dim; ++d) {
        sum += double{v[sample * shape.stride + s * shape.dim + d]} *
               v[sample * shape.stride + t * shape.dim + d];
      }
    }
  }
  return sum;
}

TEST(Fm, AgreesWithTheSumOverPairs) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  for (const FmShape& shape : {FmShape{1, 1, 1, 1}, FmShape{7, 3, 4, 12}, FmShape{5, 14, 8, 118},
                               FmShape{3, 2, 1, 2}, FmShape{2, 0, 4, 0}}) {
    std::vector<float> v(shape.samples * shape.stride);
    for (float& value : v) value = uniform(random);
    std::vector<float> sums(shape.samples * shape.dim);
    std::vector<float> logits(shape.samples, 0.5F);
    FmForward({}, shape, v, sums, logits);
    for (size_t i = 0; i < shape.samples; ++i) {
      EXPECT_NEAR(logits[i], 0.5 + PairSum(shape, v, i), 1e-4);
    }

    std::vector<float> dlogits(shape.samples);
    for (float& value : dlogits) value = uniform(random);
    std::vector<float> dv(v.size(), 0.25F);
    FmBackward({}, shape, v, sums, dlogits, dv);
    for (size_t i = 0; i < shape.samples; ++i) {
      for (size_t e = 0; e < shape.stride; ++e) {
        float& value = v[i * shape.stride + e];
        const float kept = value;
        constexpr float kStep = 1.0F / 256;
        value = kept + kStep;
        const double above = PairSum(shape, v, i);
        value = kept - kStep;
        const double below = PairSum(shape, v, i);
        value = kept;
        EXPECT_NEAR(dv[i * shape.stride + e],
                    0.25 + dlogits[i] * (above - below) / (2 * double{kStep}), 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace strata
