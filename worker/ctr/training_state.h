// TrainerState as attachments of a checkpoint.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/checkpoint/checkpointer.h"
#include "strata/status.h"
#include "worker/ctr/training_run.h"

namespace strata {

// Which run a checkpoint belongs to: JobFingerprint's text.
inline constexpr char kFingerprintAttachment[] = "job.txt";
// Network::device of the run. Older checkpoints have none.
inline constexpr char kDeviceAttachment[] = "device.txt";

// "progress.txt", lines "name = number" that begin with "format = 1", or with "format = 2" where
// the state holds evaluations, and "dense.f32" and "dense_state.f32", little-endian floats to the
// bit.
std::vector<Attachment> AttachmentsOf(const TrainerState& state);

// The names of AttachmentsOf, in its order.
std::span<const char* const> TrainerAttachments();

// The inverse of AttachmentsOf, of texts in its order. `where` is for messages. kCorrupt: other
// lines or sizes; kInvalid: a newer format.
Result<TrainerState> ParseTrainerState(std::span<const std::string> texts,
                                       const std::string& where);

}  // namespace strata
