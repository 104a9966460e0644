#include "worker/checkpoint_taker.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/thread.h"
#include "worker/ctr/training_state.h"

namespace strata {
namespace {

constexpr TimeNs kCutTimeout = 60 * kSecond;
constexpr TimeNs kSaveTimeout =
    24 * 3600 * kSecond;  // a server that is gone is noticed long before

void LogFailure(uint64_t steps, const Status& why) {
  Log(LogLevel::kWarning, "no checkpoint of step {}: {}; training goes on", steps, why.ToString());
}

}  // namespace

CheckpointTaker::CheckpointTaker(Checkpointer& checkpointer, const Clock& clock,
                                 CheckpointTakerOptions options)
    : checkpointer_(checkpointer), clock_(clock), options_(std::move(options)) {
  STRATA_CHECK(options_.every_steps >= 1);
}

CheckpointTaker::~CheckpointTaker() { Finish(); }

uint64_t CheckpointTaker::Finish() {
  if (thread_.joinable()) thread_.join();
  return saved_;
}

Status CheckpointTaker::BetweenSteps(const Trainer& trainer) {
  const uint64_t steps = trainer.steps();
  if (steps % options_.every_steps != 0 || options_.resumed_steps == steps) return {};
  if (saving_) {
    Log(LogLevel::kInfo,
        "no checkpoint of step {}: the one before is not through; a larger checkpoint.every_steps "
        "leaves it more time",
        steps);
    return {};
  }
  Finish();
  Result<uint32_t> cut = checkpointer_.Cut(clock_.Now() + kCutTimeout);
  if (steps == 0) {
    STRATA_TRY(cut.status().Prefixed("checkpoint.every_steps: the first checkpoint"));
    return Save(*cut, trainer.State()).Prefixed("checkpoint.every_steps: the first checkpoint");
  }
  if (!cut.ok()) {
    LogFailure(steps, cut.status());
    return {};
  }
  saving_ = true;
  Result<std::jthread> thread =
      StartThread("checkpoint", [this, number = *cut, state = trainer.State()] {
        const Status saved = Save(number, state);
        if (!saved.ok()) LogFailure(state.steps, saved);
        saving_ = false;
      });
  if (!thread.ok()) {
    LogFailure(steps, thread.status());
    saving_ = false;
    return {};
  }
  thread_ = std::move(thread).value();
  return {};
}

Status CheckpointTaker::Save(uint32_t number, const TrainerState& state) {
  const TimeNs begin = clock_.Now();
  std::vector<Attachment> attachments = AttachmentsOf(state);
  attachments.push_back({kFingerprintAttachment, options_.fingerprint});
  STRATA_ASSIGN(const CheckpointInfo info,
                checkpointer_.Save(number, saved_ % kFullEvery == 0, attachments,
                                   clock_.Now() + kSaveTimeout));
  ++saved_;
  Log(LogLevel::kInfo, "checkpoint {} of step {}: {} rows, {} bytes, {:.2f} s", info.number,
      state.steps, info.rows, info.bytes,
      static_cast<double>(clock_.Now() - begin) / static_cast<double>(kSecond));
  return {};
}

}  // namespace strata
