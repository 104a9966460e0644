// RemoteCheckpointer: checkpoints of a cluster, through messages to its lanes. docs/protocol.md,
// "Checkpoints", has the exchange.
#pragma once

#include <string>
#include <utility>

#include "ps/client/lane_caller.h"
#include "storage/checkpoint/checkpointer.h"

namespace strata {

// Thread-safe when its caller is, which outlives it. Every call may be made again after an error:
// lanes answer what they have done before. Errors: what a lane answered, named; kDeadlineExceeded;
// kLost.
class RemoteCheckpointer final : public Checkpointer {
 public:
  // `job`: the name of the job whose checkpoints it takes, "" without one.
  explicit RemoteCheckpointer(LaneCaller& caller, std::string job = {})
      : caller_(caller), job_(std::move(job)) {}

  // Waits for whoever else takes a checkpoint of the cluster. Once it has returned, all messages of
  // the caller's client carry the cut.
  Result<uint32_t> Cut(TimeNs deadline) override;
  // To be called soon: a cut of which nothing is heard for 5 s makes way for the next one, and then
  // is kCancelled. So it is when a server restarts meanwhile. CutAndSave takes it again.
  Result<CheckpointInfo> Save(uint32_t number, bool full, std::span<const Attachment> attachments,
                              TimeNs deadline) override;
  Result<std::vector<CheckpointInfo>> List(TimeNs deadline) override;
  Result<std::string> ReadAttachment(uint32_t number, const std::string& name,
                                     TimeNs deadline) override;
  // Lane by lane: nobody else should write meanwhile.
  Status Restore(uint32_t number, TimeNs deadline) override;
  Status RestoreTable(uint32_t number, const std::string& table, TimeNs deadline) override;

 private:
  Status Commit(uint32_t number, bool full, std::span<const Attachment> attachments,
                TimeNs deadline);
  void Trim(uint32_t number, TimeNs deadline);

  LaneCaller& caller_;
  const std::string job_;
};

}  // namespace strata
