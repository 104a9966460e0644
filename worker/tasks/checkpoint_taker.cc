#include "worker/tasks/checkpoint_taker.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/thread/thread.h"
#include "worker/ctr/training_state.h"

namespace strata {
namespace {

// Others may be saving theirs. A job that begins has nothing else to do; one that trains stands
// still meanwhile, and rather leaves a checkpoint out.
constexpr TimeNs kFirstCutTimeout = 600 * kSecond;
constexpr TimeNs kCutTimeout = 10 * kSecond;
constexpr TimeNs kSaveTimeout =
    24 * 3600 * kSecond;  // a server that is gone is noticed long before

void LogFailure(uint64_t steps, const Status& why) {
  // Training that has lost rows ends, and says so itself.
  Log(LogLevel::kWarning, "no checkpoint of step {}: {}{}", steps, why.ToString(),
      why.code() == StatusCode::kLost ? "" : "; training goes on");
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

Status CheckpointTaker::BetweenSteps(const TrainingRun& trainer) {
  const uint64_t steps = trainer.steps();
  const bool again = !saving_ && again_.exchange(false);
  if (options_.resumed_steps == steps) return {};
  if (!again && steps % options_.every_steps != 0) return {};
  if (saving_) {
    Log(LogLevel::kInfo,
        "no checkpoint of step {}: the one before is not through; a larger checkpoint.every_steps "
        "leaves it more time",
        steps);
    return {};
  }
  Finish();
  if (steps == 0) {
    return TakeFirst(trainer).Prefixed("checkpoint.every_steps: the first checkpoint");
  }
  const Result<uint32_t> cut = checkpointer_.Cut(clock_.Now() + kCutTimeout);
  if (!cut.ok()) {
    LogFailure(steps, cut.status());
    return {};
  }
  saving_ = true;
  Result<std::jthread> thread =
      StartThread("checkpoint", [this, number = *cut, again, state = StateOf(trainer)] {
        const Status saved = Save(number, state);
        if (!saved.ok()) LogFailure(state.steps, saved);
        again_ = !again && WantsNewCut(saved);
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

TrainerState CheckpointTaker::StateOf(const TrainingRun& trainer) const {
  TrainerState state = trainer.State();
  if (options_.evaluations != nullptr) state.evaluations = options_.evaluations->state();
  return state;
}

std::vector<Attachment> CheckpointTaker::Attachments(const TrainerState& state) const {
  std::vector<Attachment> attachments = AttachmentsOf(state);
  attachments.push_back({kFingerprintAttachment, options_.fingerprint});
  attachments.push_back({kDeviceAttachment, options_.device});
  return attachments;
}

Status CheckpointTaker::TakeFirst(const TrainingRun& trainer) {
  Log(LogLevel::kInfo, "taking a checkpoint before the first step");
  return TakeNow(trainer, kFirstCutTimeout).status();
}

Result<uint32_t> CheckpointTaker::TakeLast(const TrainingRun& trainer) {
  Finish();
  const bool is_held = newest_number_ != 0 && newest_steps_ == trainer.steps();
  return is_held ? Result<uint32_t>(newest_number_.load()) : TakeNow(trainer, kCutTimeout);
}

Result<uint32_t> CheckpointTaker::TakeNow(const TrainingRun& trainer, TimeNs cut_timeout) {
  const TimeNs begin = clock_.Now();
  STRATA_ASSIGN(const CheckpointInfo info,
                CutAndSave(checkpointer_, Full(), Attachments(StateOf(trainer)),
                           begin + cut_timeout, begin + kSaveTimeout));
  Note(info, trainer.steps(), begin);
  return info.number;
}

Status CheckpointTaker::Save(uint32_t number, const TrainerState& state) {
  const TimeNs begin = clock_.Now();
  STRATA_ASSIGN(const CheckpointInfo info,
                checkpointer_.Save(number, Full(), Attachments(state), begin + kSaveTimeout));
  Note(info, state.steps, begin);
  return {};
}

void CheckpointTaker::Note(const CheckpointInfo& info, uint64_t steps, TimeNs begin) {
  ++saved_;
  newest_steps_ = steps;
  newest_number_ = info.number;
  Log(LogLevel::kInfo, "checkpoint {} of step {}: {} rows, {} bytes, {:.2f} s", info.number, steps,
      info.rows, info.bytes, SecondsBetween(begin, clock_.Now()));
}

}  // namespace strata
