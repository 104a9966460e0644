// The training state in a checkpoint: back to the bit, and never a guess.
#include "worker/ctr/training_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace strata {
namespace {

using testing::HasSubstr;

TrainerState ExampleState() {
  return {.steps = 120,
          .epoch = 2,
          .epoch_steps = 20,
          .samples = 61440,
          .dense = {1.5F, -0.0F, std::bit_cast<float>(0x00000001U)},
          .dense_state = {3e38F}};
}

TrainerState StateWithEvaluations() {
  TrainerState state = ExampleState();
  state.evaluations = {.by = BestBy::kLogloss,
                       .best = {.steps = 80,
                                .samples = 40960,
                                .metrics = {.samples = 1000,
                                            .auc = std::numeric_limits<double>::quiet_NaN(),
                                            .logloss = 0.1 + 0.2,
                                            .calibration = 1e-300,
                                            .bad_rows = 3,
                                            .base_logloss = 0.7,
                                            .gauc = 0.625,
                                            .groups = 7,
                                            .groups_left_out = 3}},
                       .since_best = 1,
                       .evaluated_steps = 100};
  return state;
}

std::vector<std::string> TextsOf(const TrainerState& state) {
  std::vector<std::string> texts;
  for (const Attachment& attachment : AttachmentsOf(state)) texts.push_back(attachment.bytes);
  return texts;
}

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TEST(TrainingState, ComesBackToTheBit) {
  const auto attachments = AttachmentsOf(ExampleState());
  ASSERT_EQ(attachments.size(), TrainerAttachments().size());
  for (size_t i = 0; i < attachments.size(); ++i) {
    EXPECT_EQ(attachments[i].name, TrainerAttachments()[i]);
  }
  const auto state = ParseTrainerState(TextsOf(ExampleState()), "checkpoint 7");
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->steps, 120U);
  EXPECT_EQ(state->epoch, 2U);
  EXPECT_EQ(state->epoch_steps, 20U);
  EXPECT_EQ(state->samples, 61440U);
  EXPECT_EQ(Bits(state->dense), Bits(ExampleState().dense));
  EXPECT_EQ(Bits(state->dense_state), Bits(ExampleState().dense_state));
}

TEST(TrainingState, EvaluationsComeBackToTheBit) {
  const auto state = ParseTrainerState(TextsOf(StateWithEvaluations()), "checkpoint 7");
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  ASSERT_TRUE(state->evaluations.has_value());
  const EvaluationState expected = *StateWithEvaluations().evaluations;
  EXPECT_EQ(state->evaluations->by, expected.by);
  EXPECT_EQ(state->evaluations->best.steps, expected.best.steps);
  EXPECT_EQ(state->evaluations->best.samples, expected.best.samples);
  EXPECT_TRUE(std::isnan(state->evaluations->best.metrics.auc));
  EXPECT_EQ(state->evaluations->best.metrics.logloss, expected.best.metrics.logloss);
  EXPECT_EQ(state->evaluations->best.metrics.calibration, expected.best.metrics.calibration);
  EXPECT_EQ(state->evaluations->best.metrics.samples, expected.best.metrics.samples);
  EXPECT_EQ(state->evaluations->best.metrics.bad_rows, expected.best.metrics.bad_rows);
  EXPECT_EQ(state->evaluations->best.metrics.base_logloss, 0.7);
  EXPECT_EQ(state->evaluations->best.metrics.gauc, 0.625);
  EXPECT_EQ(state->evaluations->best.metrics.groups, 7U);
  EXPECT_EQ(state->evaluations->best.metrics.groups_left_out, 3U);
  EXPECT_EQ(state->evaluations->since_best, expected.since_best);
  EXPECT_EQ(state->evaluations->evaluated_steps, expected.evaluated_steps);
}

TEST(TrainingState, SquaredErrorsComeBackInAFormatOfTheirOwn) {
  TrainerState state = StateWithEvaluations();
  EXPECT_TRUE(TextsOf(state)[0].starts_with("format = 2\n"));
  state.evaluations->by = BestBy::kMse;
  state.evaluations->best.metrics.mse = 2.25;
  state.evaluations->best.metrics.base_mse = 4.75;
  const std::vector<std::string> texts = TextsOf(state);
  EXPECT_TRUE(texts[0].starts_with("format = 3\n"));
  const auto parsed = ParseTrainerState(texts, "c");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->evaluations->by, BestBy::kMse);
  EXPECT_EQ(parsed->evaluations->best.metrics.loss, LossKind::kMse);
  EXPECT_EQ(parsed->evaluations->best.metrics.mse, 2.25);
  EXPECT_EQ(parsed->evaluations->best.metrics.base_mse, 4.75);
  EXPECT_EQ(parsed->evaluations->since_best, state.evaluations->since_best);
}

TEST(TrainingState, EvaluationsThatCannotBeAreCorrupt) {
  const auto refused = [](auto change) {
    TrainerState state = StateWithEvaluations();
    change(*state.evaluations);
    return ParseTrainerState(TextsOf(state), "checkpoint 7").status();
  };
  const Status late = refused([](EvaluationState& of) { of.evaluated_steps = 121; });
  EXPECT_EQ(late.code(), StatusCode::kCorrupt);
  EXPECT_THAT(late.message(), HasSubstr("a newest one after 121, out of 120 steps in all"));
  EXPECT_FALSE(refused([](EvaluationState& of) { of.best.steps = 101; }).ok());
  EXPECT_FALSE(refused([](EvaluationState& of) { of.by = BestBy::kAuc; }).ok()) << "AUC is NaN";
  std::vector<std::string> other = TextsOf(StateWithEvaluations());
  other[0].replace(other[0].find("logloss"), 7, "recall!");
  EXPECT_THAT(ParseTrainerState(other, "c").status().message(),
              HasSubstr("no metric is named \"recall!\""));
}

void ExpectDamageIsNoticed(const std::vector<std::string>& good) {
  for (size_t length = 0; length < good[0].size(); ++length) {
    std::vector<std::string> cut = good;
    cut[0].resize(length);
    EXPECT_EQ(ParseTrainerState(cut, "c").status().code(), StatusCode::kCorrupt) << length;
  }
  for (size_t i = 0; i < good[0].size(); ++i) {
    std::vector<std::string> other = good;
    other[0][i] = 'x';
    EXPECT_FALSE(ParseTrainerState(other, "c").ok()) << i;
  }
}

TEST(TrainingState, EveryCutAndEveryOtherByteOfTheProgressIsNoticed) {
  const std::vector<std::string> good = TextsOf(ExampleState());
  ExpectDamageIsNoticed(good);
  ExpectDamageIsNoticed(TextsOf(StateWithEvaluations()));
  std::vector<std::string> longer = good;
  longer[0] += "more = 1\n";
  EXPECT_THAT(ParseTrainerState(longer, "checkpoint 7").status().message(),
              HasSubstr("checkpoint 7, progress.txt: expected nothing more"));
  std::vector<std::string> odd = good;
  odd[1] += "x";
  EXPECT_THAT(ParseTrainerState(odd, "checkpoint 7").status().message(),
              HasSubstr("dense.f32: expected whole numbers of 4 bytes each, found 13 bytes"));
  std::vector<std::string> newer = good;
  newer[0].replace(0, 10, "format = 4");
  EXPECT_EQ(ParseTrainerState(newer, "c").status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace strata
