// Resume: finds the checkpoint that a training run goes on from, and puts its table back to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cluster/collective/group.h"
#include "storage/checkpoint/checkpointer.h"
#include "strata/status.h"
#include "worker/ctr/training_run.h"

namespace strata {

struct ResumedRun {
  uint32_t checkpoint = 0;
  TrainerState state;
};

struct ResumeOptions {
  std::string fingerprint;          // of the job: JobFingerprint
  std::string device;               // Network::device
  std::vector<std::string> tables;  // the job's
  uint64_t epochs = 0;
};

// Puts the job's table back to the newest checkpoint that bears the job's name; nothing when there
// is none. Other tables stay as they are. `checkpointer` is rank 0's, null on the others; every
// rank calls it and gets the same.
//
// A checkpoint that was taken on another device is gone on from, with a warning: the model is then
// another one than that of an unbroken run.
//
// kCorrupt: it is damaged, or there is none but a damaged one that may be the job's; how to go on
// is said. kInvalid: that checkpoint is of another run, with the first difference, or lies behind
// the last epoch.
Result<std::optional<ResumedRun>> Resume(Checkpointer* checkpointer, Group& group,
                                         const Clock& clock, const ResumeOptions& options);

}  // namespace strata
