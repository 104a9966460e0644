// CheckpointTaker: takes a training run's checkpoints while it goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "storage/checkpoint/checkpointer.h"
#include "strata/status.h"
#include "worker/ctr/best_evaluation.h"
#include "worker/ctr/training_run.h"

namespace strata {

struct CheckpointTakerOptions {
  std::string fingerprint;   // of the job: JobFingerprint
  std::string device;        // Network::device
  uint32_t every_steps = 1;  // at least 1
  // The step that the run goes on behind, of which there is a checkpoint; nothing: a new run.
  std::optional<uint64_t> resumed_steps = {};
  // Whose state checkpoints hold, too; null: the run has none. It outlives the taker.
  const BestEvaluation* evaluations = nullptr;
};

// Of rank 0. One thread at a time.
class CheckpointTaker {
 public:
  // `checkpointer` and `clock` outlive the object.
  CheckpointTaker(Checkpointer& checkpointer, const Clock& clock, CheckpointTakerOptions options);
  ~CheckpointTaker();  // waits for the checkpoint under way

  // Between two steps, see TrainerOptions::between_steps: cuts when a checkpoint is due, and saves
  // it meanwhile on a thread of its own. When the one before is not through, this one is left out
  // with a log line. The first of a new run, before its first step, is saved before this returns,
  // so that a run can always go on. Its error is returned; later ones are logged, and training goes
  // on, since a checkpoint is for bad times. One that another cut or a restart of a server came
  // before is taken again, the first at once and a later one before the next step, once.
  Status BetweenSteps(const TrainingRun& trainer);

  // The last one of a run that ends between two steps, unless the newest holds them all: saved when
  // it returns. Its number.
  Result<uint32_t> TakeLast(const TrainingRun& trainer);

  // Waits for the checkpoint under way. How many there are of this run.
  uint64_t Finish();

 private:
  std::vector<Attachment> Attachments(const TrainerState& state) const;
  TrainerState StateOf(const TrainingRun& trainer) const;
  bool Full() const { return saved_ % kFullEvery == 0; }
  Status TakeFirst(const TrainingRun& trainer);
  Result<uint32_t> TakeNow(const TrainingRun& trainer, TimeNs cut_timeout);
  Status Save(uint32_t number, const TrainerState& state);
  void Note(const CheckpointInfo& info, uint64_t steps, TimeNs begin);

  Checkpointer& checkpointer_;
  const Clock& clock_;
  const CheckpointTakerOptions options_;
  std::atomic<uint64_t> saved_ = 0;
  std::atomic<uint64_t> newest_steps_ = 0;   // of the newest that this run took
  std::atomic<uint32_t> newest_number_ = 0;  // likewise; 0: none
  std::atomic<bool> saving_ = false;
  std::atomic<bool> again_ = false;  // the last one is to be taken again
  std::jthread thread_;
};

}  // namespace strata
