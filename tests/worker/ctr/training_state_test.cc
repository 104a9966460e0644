// The training state in a checkpoint: back to the bit, and never a guess.
#include "worker/ctr/training_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
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

TEST(TrainingState, EveryCutAndEveryOtherByteOfTheProgressIsNoticed) {
  const std::vector<std::string> good = TextsOf(ExampleState());
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
  std::vector<std::string> longer = good;
  longer[0] += "more = 1\n";
  EXPECT_THAT(ParseTrainerState(longer, "checkpoint 7").status().message(),
              HasSubstr("checkpoint 7, progress.txt: expected nothing more"));
  std::vector<std::string> odd = good;
  odd[1] += "x";
  EXPECT_THAT(ParseTrainerState(odd, "checkpoint 7").status().message(),
              HasSubstr("dense.f32: expected whole numbers of 4 bytes each, found 13 bytes"));
  std::vector<std::string> newer = good;
  newer[0].replace(0, 10, "format = 2");
  EXPECT_EQ(ParseTrainerState(newer, "c").status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace strata
