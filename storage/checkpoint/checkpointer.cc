#include "storage/checkpoint/checkpointer.h"

#include "base/log.h"

namespace strata {

bool WantsNewCut(const Status& save) {
  return save.code() == StatusCode::kCancelled || save.code() == StatusCode::kExists;
}

Result<CheckpointInfo> CutAndSave(Checkpointer& checkpointer, bool full,
                                  std::span<const Attachment> attachments, TimeNs cut_deadline,
                                  TimeNs save_deadline) {
  while (true) {
    STRATA_ASSIGN(const uint32_t number, checkpointer.Cut(cut_deadline));
    auto saved = checkpointer.Save(number, full, attachments, save_deadline);
    if (!WantsNewCut(saved.status())) return saved;
    Log(LogLevel::kInfo, "checkpoint {} is taken again: {}", number, saved.status().ToString());
  }
}

}  // namespace strata
