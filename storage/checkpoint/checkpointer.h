// Checkpointer: takes and restores checkpoints of a whole store, one in this process or a cluster.
// docs/decisions/0006 has the protocol, proto/format/checkpoint_manifest.h the files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"

namespace strata {

// Bytes of the job that belong to the cut: dense part, reader positions. Names as file names:
// [a-z0-9_.-], at most 64 characters.
struct Attachment {
  std::string name;
  std::string bytes;
};

struct CheckpointInfo {
  uint32_t number = 0;
  uint32_t parent = 0;  // an incremental one builds on it; 0: full
  uint64_t rows = 0;
  uint64_t bytes = 0;
  int64_t wall_unix_ns = 0;
  std::vector<std::string> attachments;
  std::string damage{};  // why its manifest cannot be read: only `number` is known then
};

// Whoever saves incremental checkpoints makes one of so many full: a restore reads no more of them,
// and old ones can go.
constexpr uint64_t kFullEvery = 8;

// Thread-safe. Calls block until done or until `deadline`.
class Checkpointer {
 public:
  virtual ~Checkpointer() = default;

  // In two halves, so that a trainer holds its step back for the first only. Cut: everything
  // acknowledged before the call is in it, nothing submitted after it returned is; its number.
  virtual Result<uint32_t> Cut(TimeNs deadline) = 0;
  // Saves what was cut, and commits. Without `full`, only what changed since the last checkpoint
  // where that can be told.
  virtual Result<CheckpointInfo> Save(uint32_t number, bool full,
                                      std::span<const Attachment> attachments, TimeNs deadline) = 0;
  virtual Result<std::vector<CheckpointInfo>> List(TimeNs deadline) = 0;  // newest first
  virtual Result<std::string> ReadAttachment(uint32_t number, const std::string& name,
                                             TimeNs deadline) = 0;
  // All tables are replaced by those of the checkpoint.
  virtual Status Restore(uint32_t number, TimeNs deadline) = 0;
  // This table is replaced by that of the checkpoint, or made; others stay as they are. kNotFound:
  // the checkpoint does not exist, or does not hold the table.
  virtual Status RestoreTable(uint32_t number, const std::string& table, TimeNs deadline) = 0;
};

// Cut and Save, and both again when another cut or a restart of a server came between: for whoever
// may cut at any time. `cut_deadline` is of all cuts together, `save_deadline` of all saving.
Result<CheckpointInfo> CutAndSave(Checkpointer& checkpointer, bool full,
                                  std::span<const Attachment> attachments, TimeNs cut_deadline,
                                  TimeNs save_deadline);
// Whether a Save ended so that only a new cut can be saved, and will be.
bool WantsNewCut(const Status& save);

}  // namespace strata
