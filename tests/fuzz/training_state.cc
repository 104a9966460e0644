// The attachments of a training run's checkpoint: the progress up to the first zero byte, behind it
// the two dense files, each with half of the rest.
#include "worker/ctr/training_state.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {
namespace {

using Texts = std::array<std::string, 3>;

Texts TextsOf(const TrainerState& state) {
  const std::vector<Attachment> attachments = AttachmentsOf(state);
  Texts texts;
  STRATA_CHECK(attachments.size() == texts.size());
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = attachments[i].bytes;
  return texts;
}

Bytes BytesOf(const TrainerState& state) {
  const Texts texts = TextsOf(state);
  const std::string text = texts[0] + '\0' + texts[1] + texts[2];
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

bool IsSame(const std::optional<EvaluationState>& a, const std::optional<EvaluationState>& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  return a->by == b->by && a->best.steps == b->best.steps && a->best.samples == b->best.samples &&
         a->since_best == b->since_best && a->evaluated_steps == b->evaluated_steps &&
         ScoreOf(a->best.metrics, a->by) == ScoreOf(b->best.metrics, b->by);
}

}  // namespace

std::vector<Bytes> Seeds() {
  const TrainerState state{.steps = 120,
                           .epoch = 2,
                           .epoch_steps = 20,
                           .samples = 61440,
                           .dense = {1.5F, 2.5F},
                           .dense_state = {3e38F, 0.25F}};
  TrainerState evaluated = state;
  evaluated.evaluations = {.by = BestBy::kAuc,
                           .best = {.steps = 50, .samples = 25600, .metrics = {.auc = 0.75}},
                           .since_best = 2,
                           .evaluated_steps = 100};
  return {BytesOf(state), BytesOf(evaluated)};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using strata::fuzz::Texts;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view progress = input.substr(0, input.find('\0'));
  const std::string_view dense = input.substr(std::min(size, progress.size() + 1));
  const size_t half = dense.size() / 2;
  const Texts texts = {std::string(progress), std::string(dense.substr(0, half)),
                       std::string(dense.substr(half))};
  const auto state = strata::ParseTrainerState(texts, "checkpoint 7");
  if (!state.ok()) {
    STRATA_CHECK(state.status().message().starts_with("checkpoint 7, "));
    return 0;
  }
  // Numbers may be written in several ways: what was read must survive, and the floats to the bit.
  const Texts again = strata::fuzz::TextsOf(*state);
  STRATA_CHECK(again[1] == texts[1] && again[2] == texts[2]);
  const auto reread = strata::ParseTrainerState(again, "again");
  STRATA_CHECK(reread.ok() && reread->steps == state->steps && reread->epoch == state->epoch &&
               reread->epoch_steps == state->epoch_steps && reread->samples == state->samples &&
               strata::fuzz::IsSame(reread->evaluations, state->evaluations));
  return 0;
}
