#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/optim/apply.h"

namespace strata {
namespace {

struct Reference {
  std::vector<double> value, state;
};

// The formulas of rules.h in double, written apart from it.
void ReferenceStep(const OptimizerSpec& spec, uint64_t step, const std::vector<float>& gradient,
                   Reference& row) {
  const size_t n = gradient.size();
  const auto t = static_cast<double>(step);
  for (size_t i = 0; i < n; ++i) {
    const double g = gradient[i];
    switch (spec.kind) {
      case OptimizerKind::kSgd:
        row.value[i] -= double{spec.learning_rate} * g;
        break;
      case OptimizerKind::kAdaGrad:
        row.state[i] += g * g;
        row.value[i] -= spec.learning_rate * g / (std::sqrt(row.state[i]) + spec.epsilon);
        break;
      case OptimizerKind::kAdam: {
        const double b1 = spec.beta1, b2 = spec.beta2;
        double& m = row.state[i];
        double& v = row.state[n + i];
        m = b1 * m + (1 - b1) * g;
        v = b2 * v + (1 - b2) * g * g;
        const double alpha =
            spec.learning_rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
        row.value[i] -= alpha * m / (std::sqrt(v) + spec.epsilon);
        break;
      }
    }
  }
}

std::vector<OptimizerSpec> Specs() {
  OptimizerSpec sgd;
  OptimizerSpec adagrad;
  adagrad.kind = OptimizerKind::kAdaGrad;
  adagrad.learning_rate = 0.1F;
  OptimizerSpec adagrad_warm = adagrad;
  adagrad_warm.initial_accumulator = 0.5F;
  OptimizerSpec adam;
  adam.kind = OptimizerKind::kAdam;
  adam.learning_rate = 0.001F;
  return {sgd, adagrad, adagrad_warm, adam};
}

// Relative to the larger of the number and what it was made of: a difference of two close numbers
// keeps the error of its operands.
void ExpectNear(double found, double expected, double operand, const std::string& what) {
  EXPECT_NEAR(found, expected, 1e-6 * std::max(std::fabs(expected), std::fabs(operand))) << what;
}

TEST(OptimizerTest, MatchesDoubleReference) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  for (const OptimizerSpec& spec : Specs()) {
    for (const uint32_t dim : {1U, 16U, 128U, 1024U}) {
      for (const uint64_t step : {uint64_t{1}, uint64_t{2}, uint64_t{1000}}) {
        const auto width = static_cast<size_t>(StateWidth(spec, dim));
        std::vector<float> row(dim + width), gradient(dim);
        for (float& g : gradient) g = normal(random);
        for (size_t i = 0; i < dim; ++i) row[i] = normal(random);
        InitialState(spec, std::span(row).subspan(dim));
        if (step > 1) {
          for (size_t i = dim; i < row.size(); ++i) row[i] += 0.1F * std::fabs(normal(random));
        }
        const std::vector<float> before = row;
        Reference reference{{row.begin(), row.begin() + dim}, {row.begin() + dim, row.end()}};
        ReferenceStep(spec, step, gradient, reference);
        const RowUpdate update{row.data(), gradient.data()};
        ApplyRows(Exec{}, spec, step, dim, {&update, 1});
        for (size_t i = 0; i < row.size(); ++i) {
          const double expected = i < dim ? reference.value[i] : reference.state[i - dim];
          ExpectNear(row[i], expected, before[i],
                     "dim " + std::to_string(dim) + " element " + std::to_string(i));
        }
      }
    }
  }
}

TEST(OptimizerTest, ThousandStepsStayCloseToTheReference) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  constexpr uint32_t kDim = 16;
  for (const OptimizerSpec& spec : Specs()) {
    std::vector<float> row(kDim + StateWidth(spec, kDim)), gradient(kDim);
    InitialState(spec, std::span(row).subspan(kDim));
    Reference reference{std::vector<double>(kDim), {row.begin() + kDim, row.end()}};
    for (uint64_t step = 1; step <= 1000; ++step) {
      for (float& g : gradient) g = normal(random) + 0.3F;
      ReferenceStep(spec, step, gradient, reference);
      const RowUpdate update{row.data(), gradient.data()};
      ApplyRows(Exec{}, spec, step, kDim, {&update, 1});
    }
    for (size_t i = 0; i < kDim; ++i) {
      // 1000 roundings of 6e-8 add up to less than 1e-5 of the sum.
      EXPECT_NEAR(row[i], reference.value[i], 1e-5 * std::fabs(reference.value[i])) << i;
    }
  }
}

// By hand, in numbers that are exact: m = 1, v = 1, a_1 = 1, so that w = -1 / (1 + eps). With eps
// inside the bias correction it would be -2 / (2 + eps).
TEST(OptimizerTest, AdamKeepsEpsilonOutsideTheCorrection) {
  OptimizerSpec adam;
  adam.kind = OptimizerKind::kAdam;
  adam.learning_rate = 1.0F;
  adam.epsilon = 1.0F;
  adam.beta1 = 0.5F;
  adam.beta2 = 0.75F;
  std::vector<float> value = {0.0F}, state = {0.0F, 0.0F}, gradient = {2.0F};
  ApplyDense(Exec{}, adam, 1, value, state, gradient);
  EXPECT_EQ(value[0], -0.5F);
  EXPECT_EQ(state, (std::vector<float>{1.0F, 1.0F}));
}

TEST(OptimizerTest, DenseAndRowsGiveTheSameBits) {
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  for (const OptimizerSpec& spec : Specs()) {
    for (const uint32_t dim : {1U, 3U, 16U, 1024U}) {
      const auto width = static_cast<size_t>(StateWidth(spec, dim));
      std::vector<float> row(dim + width), gradient(dim);
      InitialState(spec, std::span(row).subspan(dim));
      for (size_t i = 0; i < dim; ++i) row[i] = normal(random);
      std::vector<float> value(row.begin(), row.begin() + dim), state(row.begin() + dim, row.end());
      for (uint64_t step = 1; step <= 3; ++step) {
        for (float& g : gradient) g = normal(random);
        const RowUpdate update{row.data(), gradient.data()};
        ApplyRows(Exec{}, spec, step, dim, {&update, 1});
        ApplyDense(Exec{}, spec, step, value, state, gradient);
      }
      value.insert(value.end(), state.begin(), state.end());
      EXPECT_EQ(row, value);
    }
  }
}

TEST(OptimizerTest, StateWidthAndInitialState) {
  OptimizerSpec spec;
  EXPECT_EQ(StateWidth(spec, 16), 0U);
  spec.kind = OptimizerKind::kAdaGrad;
  spec.initial_accumulator = 0.1F;
  EXPECT_EQ(StateWidth(spec, 16), 16U);
  std::vector<float> state(4, 7.0F);
  InitialState(spec, state);
  EXPECT_EQ(state, std::vector<float>(4, 0.1F));
  spec.kind = OptimizerKind::kAdam;
  EXPECT_EQ(StateWidth(spec, 16), 32U);
  InitialState(spec, state);
  EXPECT_EQ(state, std::vector<float>(4, 0.0F));
}

TEST(OptimizerTest, AllFiniteFindsEveryPlaceAndKind) {
  const float big = std::numeric_limits<float>::max();
  for (const size_t size : {1U, 4U, 7U, 1024U}) {
    std::vector<float> values(size, -big);
    EXPECT_TRUE(AllFinite(values));
    for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
      for (size_t i = 0; i < size; ++i) {
        values[i] = bad;
        EXPECT_FALSE(AllFinite(values)) << i;
        values[i] = big;
      }
    }
  }
  EXPECT_TRUE(AllFinite({}));
}

}  // namespace
}  // namespace strata
