#include "worker/tasks/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "worker/ctr/agree.h"
#include "worker/ctr/training_state.h"
#include "worker/tasks/job_agreement.h"

namespace strata {
namespace {

constexpr TimeNs kAnswerTimeout = 60 * kSecond;
constexpr TimeNs kRestoreTimeout = 24 * 3600 * kSecond;  // a server that is gone is noticed before

// The line of a fingerprint that names the job.
std::string_view JobLine(std::string_view fingerprint) {
  const size_t begin = fingerprint.find("job.name = ");
  if (begin == std::string_view::npos) return {};
  return fingerprint.substr(begin, fingerprint.find('\n', begin) - begin);
}

Status CheckFits(uint32_t number, const std::string& found, const std::string& expected) {
  const auto difference = FirstDifference(found, expected);
  if (!difference.has_value()) return {};
  return Invalid(fmt::format(
      "checkpoint {} of this job has '{}', the job now '{}': training cannot go on with another "
      "job; put it back as it was, begin anew with checkpoint.resume=false, or choose another "
      "job.name",
      number, difference->first, difference->second));
}

// What is damaged or gone stays so: the way on is the user's to choose.
Status WithWayOn(uint64_t number, const Status& status) {
  const bool unusable = status.code() == StatusCode::kCorrupt ||
                        status.code() == StatusCode::kFailed ||
                        status.code() == StatusCode::kNotFound;
  if (!unusable) return status;
  return Status(status.code(),
                fmt::format("{}; training cannot go on from checkpoint {}: bring its files back "
                            "from a copy (strata-admin verify names those that are damaged); or, "
                            "to go on from the one before, move the folder {:010} out of the "
                            "folder of checkpoints and start the job again; or begin anew with "
                            "checkpoint.resume=false",
                            status.message(), number, number));
}

// The number of the newest checkpoint of a job of this name; 0: there is none. kCorrupt: there is
// none, but a damaged one that may be.
Result<uint64_t> FindCheckpoint(Checkpointer& checkpointer, const std::string& fingerprint,
                                TimeNs deadline) {
  STRATA_ASSIGN(const std::vector<CheckpointInfo> all, checkpointer.List(deadline));
  std::vector<CheckpointInfo> damaged;
  for (const CheckpointInfo& info : all) {
    if (!info.damage.empty()) damaged.push_back(info);
    if (std::ranges::count(info.attachments, kFingerprintAttachment) == 0) continue;
    const Result<std::string> found =
        checkpointer.ReadAttachment(info.number, kFingerprintAttachment, deadline);
    STRATA_TRY(WithWayOn(info.number, found.status()));
    if (JobLine(*found) != JobLine(fingerprint)) continue;
    STRATA_TRY(CheckFits(info.number, *found, fingerprint));
    for (const CheckpointInfo& passed : damaged) {
      Log(LogLevel::kWarning, "checkpoint {} is passed over, it may be this job's: {}",
          passed.number, passed.damage);
    }
    return info.number;
  }
  if (damaged.empty()) return 0;
  const CheckpointInfo& newest = damaged.front();
  return WithWayOn(newest.number,
                   Corrupt(fmt::format("this job has no checkpoint that can be read, and {} may be "
                                       "its own: {}",
                                       newest.number, newest.damage)));
}

Status WarnOfAnotherDevice(Checkpointer& checkpointer, uint32_t number, const std::string& device,
                           TimeNs deadline) {
  const Result<std::string> taken_on =
      checkpointer.ReadAttachment(number, kDeviceAttachment, deadline);
  // A checkpoint of an older version does not say where it was taken.
  if (taken_on.status().code() == StatusCode::kNotFound) return {};
  STRATA_TRY(WithWayOn(number, taken_on.status()));
  if (*taken_on == device) return {};
  Log(LogLevel::kWarning,
      "checkpoint {} was taken on another device, {}; this run computes on {}, which rounds in "
      "other ways: the model will differ slightly from that of an unbroken run",
      number, *taken_on, device);
  return {};
}

}  // namespace

Result<std::optional<ResumedRun>> Resume(Checkpointer* checkpointer, Group& group,
                                         const Clock& clock, const ResumeOptions& options) {
  STRATA_CHECK((checkpointer != nullptr) == (group.rank() == 0));
  const TimeNs deadline = clock.Now() + kAnswerTimeout;
  Result<uint64_t> found = 0;
  if (checkpointer != nullptr) found = FindCheckpoint(*checkpointer, options.fingerprint, deadline);
  STRATA_TRY(AgreeOnStatus(group, found.status()));
  STRATA_ASSIGN(const uint64_t number, NumberOfRank0(group, *found));
  if (number == 0) return std::optional<ResumedRun>();

  ResumedRun run{.checkpoint = static_cast<uint32_t>(number), .state = {}};
  Status told;
  if (checkpointer != nullptr) {
    told = WarnOfAnotherDevice(*checkpointer, run.checkpoint, options.device, deadline);
  }
  STRATA_TRY(AgreeOnStatus(group, told));
  std::vector<std::string> texts;
  for (const char* name : TrainerAttachments()) {
    Result<std::string> mine = std::string();
    if (checkpointer != nullptr) {
      mine = checkpointer->ReadAttachment(run.checkpoint, name, deadline);
      if (!mine.ok()) mine = WithWayOn(number, mine.status());
    }
    STRATA_ASSIGN(std::string text, BytesOfRank0(group, mine));
    texts.push_back(std::move(text));
  }
  const std::string where = fmt::format("checkpoint {}", number);
  STRATA_ASSIGN(run.state, ParseTrainerState(texts, where));
  if (run.state.epoch >= options.epochs) {
    return Invalid(fmt::format(
        "{} is of epoch {}, train.epochs is {}: training is past that; expected at least {}", where,
        run.state.epoch + 1, options.epochs, run.state.epoch + 1));
  }
  Status restored;
  if (checkpointer != nullptr) {
    // A checkpoint is of all tables: those of others go on as they are.
    for (const std::string& table : options.tables) {
      if (!restored.ok()) break;
      restored = WithWayOn(
          number, checkpointer->RestoreTable(run.checkpoint, table, clock.Now() + kRestoreTimeout));
    }
  }
  STRATA_TRY(AgreeOnStatus(group, restored));
  return std::optional(std::move(run));
}

}  // namespace strata
