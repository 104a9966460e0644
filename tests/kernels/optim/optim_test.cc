#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/optim/apply.h"
#include "kernels/optim/learning_rate.h"
#include "tests/kernels/optim/reference.h"

namespace strata {
namespace {

constexpr OptimizerKind kKinds[] = {
    OptimizerKind::kSgd,     OptimizerKind::kMomentum,       OptimizerKind::kNesterov,
    OptimizerKind::kAdaGrad, OptimizerKind::kRowwiseAdaGrad, OptimizerKind::kRmsProp,
    OptimizerKind::kAdam,    OptimizerKind::kLazyAdam,       OptimizerKind::kFtrl};

OptimizerSpec SpecOf(OptimizerKind kind, float rate) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.learning_rate = rate;
  return spec;
}

// Each kind alone, and with all that a spec can ask for.
std::vector<OptimizerSpec> Specs() {
  std::vector<OptimizerSpec> specs;
  for (const OptimizerKind kind : kKinds) {
    const bool is_adam = kind == OptimizerKind::kAdam || kind == OptimizerKind::kLazyAdam;
    OptimizerSpec spec = SpecOf(kind, is_adam ? 0.001F : 0.05F);
    if (kind == OptimizerKind::kFtrl) {
      spec.l1 = 0.02F;
      spec.l2 = 0.1F;
      spec.beta = 0.5F;
    }
    specs.push_back(spec);
    spec.initial_accumulator = 0.5F;
    spec.clip_value = 1.5F;
    spec.clip_norm = 2.0F;
    spec.weight_decay = 0.01F;
    spec.warmup_steps = 10;
    spec.decay_start = 100;
    spec.decay_steps = 2000;
    spec.end_learning_rate = 1e-4F;
    specs.push_back(spec);
  }
  return specs;
}

std::string NameOf(const OptimizerSpec& spec) {
  return "kind " + std::to_string(static_cast<int>(spec.kind)) +
         (spec.clip_value == 0 ? " plain" : " shaped");
}

// Relative to the largest of the number and what it was made of: a difference of two close numbers
// keeps the error of its operands.
void ExpectNear(double found, double expected, double operand, const std::string& what) {
  EXPECT_NEAR(found, expected, 1e-6 * std::max(std::fabs(expected), std::fabs(operand))) << what;
}

// One update of a row that has known others: its numbers within 1e-6.
TEST(OptimizerTest, MatchesDoubleReference) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const auto check = [&](const OptimizerSpec& spec, uint32_t dim, uint64_t step, uint64_t gap) {
    const auto width = static_cast<size_t>(StateWidth(spec, dim));
    std::vector<float> row(dim + width), gradient(dim);
    // Weight decay never takes most of a gradient away, so that its digits are kept.
    for (float& g : gradient) g = (uniform(random) + 2.0F) * (random() % 2 == 0 ? 0.5F : -0.5F);
    for (size_t i = 0; i < dim; ++i) row[i] = uniform(random);
    InitialState(spec, std::span(row).subspan(dim));
    const uint64_t last_step = step > gap ? step - gap : 0;
    if (last_step > 0) {
      for (size_t i = dim; i < row.size(); ++i) row[i] += 0.1F * std::fabs(uniform(random));
    }
    const std::vector<float> before = row;
    ReferenceRow reference{
        {row.begin(), row.begin() + dim}, {row.begin() + dim, row.end()}, last_step};
    ReferenceStep(spec, step, gradient, &reference);
    const RowUpdate update{row.data(), gradient.data(), last_step};
    ApplyRows(Exec{}, spec, step, dim, {&update, 1});
    for (size_t i = 0; i < row.size(); ++i) {
      const double expected = i < dim ? reference.value[i] : reference.state[i - dim];
      // FTRL's z is made of a gradient and a weight, and its weight of z alone.
      const double operand =
          spec.kind == OptimizerKind::kFtrl
              ? std::fabs(before[i]) + std::fabs(before[i % dim]) + std::fabs(gradient[i % dim])
              : before[i];
      ExpectNear(row[i], expected, operand,
                 NameOf(spec) + " dim " + std::to_string(dim) + " step " + std::to_string(step) +
                     " gap " + std::to_string(gap) + " element " + std::to_string(i));
    }
  };
  for (const OptimizerSpec& spec : Specs()) {
    for (const uint32_t dim : {1U, 16U, 33U, 128U, 1024U}) {
      for (const uint64_t step : {1U, 2U, 50U, 1000U}) {
        for (const uint64_t gap : {1U, 100U}) check(spec, dim, step, gap);
      }
    }
  }
}

// A row that every third step touches.
TEST(OptimizerTest, ThousandStepsStayCloseToTheReference) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  constexpr uint32_t kDim = 16;
  for (const OptimizerSpec& spec : Specs()) {
    std::vector<float> row(kDim + StateWidth(spec, kDim)), gradient(kDim);
    InitialState(spec, std::span(row).subspan(kDim));
    ReferenceRow reference{std::vector<double>(kDim), {row.begin() + kDim, row.end()}, 0};
    for (uint64_t step = 1; step <= 3000; step += 3) {
      for (float& g : gradient) g = normal(random) + 0.3F;
      const RowUpdate update{row.data(), gradient.data(), reference.last_step};
      ApplyRows(Exec{}, spec, step, kDim, {&update, 1});
      ReferenceStep(spec, step, gradient, &reference);
    }
    for (size_t i = 0; i < row.size(); ++i) {
      // 1000 roundings of 6e-8 add up to less than 1e-5 of the sum; a weight that has gone back and
      // forth has more of them than its size says.
      const double expected = i < kDim ? reference.value[i] : reference.state[i - kDim];
      EXPECT_NEAR(row[i], expected, 2e-5 * std::max(std::fabs(expected), 0.1))
          << NameOf(spec) << " element " << i;
    }
  }
}

TEST(OptimizerTest, LearningRateWarmsUpAndDecays) {
  OptimizerSpec spec = SpecOf(OptimizerKind::kSgd, 0.5F);
  EXPECT_EQ(LearningRateAt(spec, 1), 0.5);
  EXPECT_EQ(LearningRateAt(spec, UINT64_MAX), 0.5);
  spec.warmup_steps = 8;
  spec.decay_start = 20;
  spec.decay_steps = 16;
  spec.end_learning_rate = 0.0078125F;
  EXPECT_EQ(LearningRateAt(spec, 1), 0.0625);
  EXPECT_EQ(LearningRateAt(spec, 4), 0.25);
  EXPECT_EQ(LearningRateAt(spec, 8), 0.5);
  EXPECT_EQ(LearningRateAt(spec, 9), 0.5);
  EXPECT_EQ(LearningRateAt(spec, 20), 0.5);
  EXPECT_NEAR(LearningRateAt(spec, 21), 0.5 * 15 * 15 / 256, 1e-15);
  EXPECT_NEAR(LearningRateAt(spec, 28), 0.125, 1e-15);
  EXPECT_NEAR(LearningRateAt(spec, 34), 0.0078125, 1e-15);  // (2 / 16)^2 / 2
  EXPECT_EQ(LearningRateAt(spec, 35), 0.0078125) << "never below the end";
  EXPECT_EQ(LearningRateAt(spec, 36), 0.0078125);
  EXPECT_EQ(LearningRateAt(spec, 1'000'000), 0.0078125);
  spec.decay_power = 1.0F;
  EXPECT_NEAR(LearningRateAt(spec, 32), 0.125, 1e-15);
  spec.decay_power = 0.5F;
  EXPECT_NEAR(LearningRateAt(spec, 32), 0.25, 1e-15);
  spec.end_learning_rate = 0.0F;
  EXPECT_EQ(LearningRateAt(spec, 36), 0.0);
  spec.decay_steps = UINT64_MAX;  // the sum with decay_start is beyond 64 bits
  EXPECT_NEAR(LearningRateAt(spec, 1000), 0.5, 1e-12);
}

TEST(OptimizerTest, RowsFollowTheSchedule) {
  for (const OptimizerKind kind : kKinds) {
    OptimizerSpec spec = SpecOf(kind, 0.5F);
    spec.warmup_steps = 4;
    OptimizerSpec quarter = SpecOf(kind, 0.125F);
    std::vector<float> value(8, 1.0F), as_quarter(8, 1.0F);
    std::vector<float> state(StateWidth(spec, 8), 0.25F), gradient(8, 0.5F);
    std::vector<float> state_of_quarter = state;
    ApplyDense(Exec{}, spec, 1, value, state, gradient);
    ApplyDense(Exec{}, quarter, 1, as_quarter, state_of_quarter, gradient);
    EXPECT_EQ(value, as_quarter) << NameOf(spec);
  }
}

TEST(OptimizerTest, ThreadsChangeNoBits) {
  constexpr size_t kCount = 200'000;
  const auto pool = WorkPool::Start("test", 2);
  ASSERT_TRUE(pool.ok());
  std::mt19937_64 random(9);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> gradient(kCount);
  for (float& number : gradient) number = uniform(random);
  for (const OptimizerSpec& spec : Specs()) {
    const auto apply = [&](WorkPool* threads) {
      std::vector<float> value(kCount, 0.5F);
      std::vector<float> state(StateWidth(spec, kCount), 0.25F);
      ApplyDense(Exec{}, spec, 3, value, state, gradient, threads);
      value.insert(value.end(), state.begin(), state.end());
      return value;
    };
    EXPECT_EQ(apply(nullptr), apply(pool->get())) << NameOf(spec);
  }
}

// By hand, in numbers that are exact.
TEST(OptimizerTest, ClipsThenDecaysWeights) {
  OptimizerSpec spec = SpecOf(OptimizerKind::kSgd, 1.0F);
  const auto gradient_seen = [&](std::vector<float> gradient, float weight) {
    std::vector<float> value(gradient.size(), weight);
    ApplyDense(Exec{}, spec, 1, value, {}, gradient);
    for (float& w : value) w = weight - w;
    return value;
  };
  using Floats = std::vector<float>;
  spec.clip_value = 2.0F;
  EXPECT_EQ(gradient_seen({-3, -2, 0.5, 2, 1e30F}, 0), (Floats{-2, -2, 0.5, 2, 2}));
  spec.clip_value = 0.0F;
  spec.clip_norm = 10.0F;
  EXPECT_EQ(gradient_seen({6, -8}, 0), (Floats{6, -8}));
  EXPECT_EQ(gradient_seen({12, -16}, 0), (Floats{6, -8}));
  EXPECT_NEAR(gradient_seen({3e38F, 3e38F}, 0)[1], 7.0710678F, 1e-6) << "no overflow";
  spec.clip_value = 12.0F;
  spec.clip_norm = 7.5F;
  EXPECT_EQ(gradient_seen({-100, 9}, 0), (Floats{-6, 4.5})) << "values first";
  spec.weight_decay = 0.5F;
  EXPECT_EQ(gradient_seen({-100, 9}, 4), (Floats{-4, 6.5})) << "the decay is not clipped";
  spec.clip_value = spec.clip_norm = 0.0F;
  EXPECT_EQ(gradient_seen({1}, -2), (Floats{0}));
}

TEST(OptimizerTest, MomentumAndNesterovByHand) {
  const std::vector<float> gradient = {1.0F};
  for (const OptimizerKind kind : {OptimizerKind::kMomentum, OptimizerKind::kNesterov}) {
    OptimizerSpec spec = SpecOf(kind, 0.5F);
    spec.momentum = 0.5F;
    std::vector<float> value = {1.0F}, state = {0.0F};
    ApplyDense(Exec{}, spec, 1, value, state, gradient);
    ApplyDense(Exec{}, spec, 2, value, state, gradient);
    EXPECT_EQ(state[0], -0.75F);
    EXPECT_EQ(value[0], kind == OptimizerKind::kMomentum ? -0.25F : -0.625F);
  }
}

TEST(OptimizerTest, RowwiseAdaGradHasOneAccumulatorThatCountsBeforeItIsUsed) {
  OptimizerSpec spec = SpecOf(OptimizerKind::kRowwiseAdaGrad, 1.0F);
  spec.initial_accumulator = 3.0F;
  spec.epsilon = 1.0F;
  std::vector<float> value = {0, 0, 0, 0}, state = {0};
  InitialState(spec, state);
  ApplyDense(Exec{}, spec, 1, value, state, std::vector<float>{1, -1, 3, 5});  // mean square 9
  const float rate = 1.0F / (std::sqrt(12.0F) + 1.0F);
  EXPECT_EQ(state[0], 12.0F);
  EXPECT_EQ(value, (std::vector<float>{-rate, rate, -3 * rate, -5 * rate}));
}

TEST(OptimizerTest, FtrlLeavesWeightsAtZeroUpToL1) {
  OptimizerSpec spec = SpecOf(OptimizerKind::kFtrl, 1.0F);
  spec.l1 = 2.0F;
  spec.beta = 1.0F;
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<float> value = {0, 0, 0}, state(6);
    const float above = std::nextafter(2.0F, 3.0F);
    ApplyDense(Exec{}, spec, 1, value, state,
               std::vector<float>{sign * 2.0F, sign * above, sign * 3.0F});
    EXPECT_EQ(state, (std::vector<float>{4, above * above, 9, sign * 2, sign * above, sign * 3}));
    EXPECT_EQ(value[0], 0.0F) << "|z| = l1";
    EXPECT_LT(sign * value[1], 0.0F);
    EXPECT_NEAR(value[2], -sign * 0.25F, 1e-7) << "(l1 - z) / (sqrt(n + e) + beta)";
    ApplyDense(Exec{}, spec, 2, value, state,
               std::vector<float>{0.0F, -sign * above, -sign * 3.0F});
    EXPECT_EQ(value[1], 0.0F) << "back within l1";
  }
}

// The gradient of a step reaches the weight at the row's next update, in proportion to how much of
// it Adam would have applied meanwhile.
TEST(OptimizerTest, LazyAdamMakesUpForTheStepsBetween) {
  OptimizerSpec lazy = SpecOf(OptimizerKind::kLazyAdam, 0.01F);
  const std::vector<float> gradient = {1.0F}, zero = {0.0F};
  const auto update = [&](std::vector<float>& row, const std::vector<float>& g, uint64_t step,
                          uint64_t last) {
    const RowUpdate one{row.data(), g.data(), last};
    ApplyRows(Exec{}, lazy, step, 1, {&one, 1});
  };
  std::vector<float> row = {0, 0, 0};
  update(row, gradient, 1, 0);
  EXPECT_EQ(row[0], 0.0F) << "the first update leaves the weight";
  std::vector<float> at_once = row, later = row;
  update(at_once, zero, 2, 1);
  EXPECT_NEAR(at_once[0], -0.01F, 1e-7) << "Adam's first step";
  update(later, zero, 101, 1);
  EXPECT_NEAR(later[0], -0.1F, 1e-5) << "all of it: 1 / (1 - b1) steps";
  std::vector<float> back = at_once;
  update(back, gradient, 1, 2);
  EXPECT_EQ(back[0], at_once[0]) << "time ran backward";
  EXPECT_EQ(back[1], at_once[1] + (1.0F - lazy.beta1));
}

// A row whose gradients come in one sum is updated once, whatever the row looks like beside it.
TEST(OptimizerTest, RowsDoNotTouchTheirNeighbours) {
  for (const OptimizerSpec& spec : Specs()) {
    for (const uint32_t dim : {1U, 5U, 32U}) {
      const auto width = static_cast<size_t>(StateWidth(spec, dim));
      std::vector<float> rows(3 * (dim + width), 7.0F);
      const std::vector<float> gradient(dim, 0.5F);
      const RowUpdate middle{rows.data() + dim + width, gradient.data(), 0};
      ApplyRows(Exec{}, spec, 3, dim, {&middle, 1});
      for (size_t i = 0; i < dim + width; ++i) {
        EXPECT_EQ(rows[i], 7.0F) << NameOf(spec);
        EXPECT_EQ(rows[2 * (dim + width) + i], 7.0F) << NameOf(spec);
      }
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
        const RowUpdate update{row.data(), gradient.data(), step - 1};
        ApplyRows(Exec{}, spec, step, dim, {&update, 1});
        ApplyDense(Exec{}, spec, step, value, state, gradient);
      }
      value.insert(value.end(), state.begin(), state.end());
      EXPECT_EQ(row, value);
    }
  }
}

TEST(OptimizerTest, StateWidthAndInitialState) {
  const std::map<OptimizerKind, uint64_t> widths = {{OptimizerKind::kSgd, 0},
                                                    {OptimizerKind::kMomentum, 16},
                                                    {OptimizerKind::kNesterov, 16},
                                                    {OptimizerKind::kAdaGrad, 16},
                                                    {OptimizerKind::kRowwiseAdaGrad, 1},
                                                    {OptimizerKind::kRmsProp, 16},
                                                    {OptimizerKind::kAdam, 32},
                                                    {OptimizerKind::kLazyAdam, 32},
                                                    {OptimizerKind::kFtrl, 32}};
  for (const auto& [kind, width] : widths) {
    OptimizerSpec spec = SpecOf(kind, 1.0F);
    spec.initial_accumulator = 0.1F;
    EXPECT_EQ(StateWidth(spec, 16), width) << NameOf(spec);
    std::vector<float> state(4, 7.0F);
    InitialState(spec, state);
    const bool accumulates =
        kind == OptimizerKind::kAdaGrad || kind == OptimizerKind::kRowwiseAdaGrad;
    EXPECT_EQ(state, std::vector<float>(4, accumulates ? 0.1F : 0.0F)) << NameOf(spec);
  }
}

TEST(OptimizerTest, HugeGradientsLeaveNumbers) {
  for (const OptimizerSpec& spec : Specs()) {
    std::vector<float> value(3, 0.5F), state(StateWidth(spec, 3));
    InitialState(spec, state);
    for (uint64_t step = 1; step <= 4; ++step) {
      const float g = step == 2 ? -3e38F : 1.0F;
      ApplyDense(Exec{}, spec, step, value, state, std::vector<float>{g, 1.0F, -g});
    }
    EXPECT_TRUE(AllFinite(value)) << NameOf(spec);
  }
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
