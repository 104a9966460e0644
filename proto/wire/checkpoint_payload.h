// The payloads of the checkpoint commands. What describes a lane's part is opaque here
// (proto/format/checkpoint_manifest.h has it): the client carries it from the lanes to the one that
// writes the manifest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/message_port.h"
#include "strata/status.h"

namespace strata::wire {

// Byte strings, one after the other: COMMIT_CHECKPOINT's part descriptions, in the order of the
// shard map's lanes. Decoding gives views that keep the frame alive; kInvalid for more than
// kBlocksMax, as an empty one has 4 bytes and takes many times as much when it is decoded.
constexpr size_t kBlocksMax = 65'536;
Frame EncodeBlocks(std::span<const Frame> blocks);
Result<std::vector<Frame>> DecodeBlocks(const Frame& frame);

// COMMIT_CHECKPOINT's second frame, and that of LIST_CHECKPOINTS' reply (number of a damaged one,
// reason): blocks of name, bytes, name, bytes, ...
struct NamedBlock {
  std::string name;
  Frame bytes;
};
Frame EncodeNamedBlocks(std::span<const NamedBlock> blocks);
Result<std::vector<NamedBlock>> DecodeNamedBlocks(const Frame& frame);

// The block of COMMIT_CHECKPOINT's second frame that holds the name of the job that takes the
// checkpoint. It is no attachment: the manifest has it.
inline constexpr std::string_view kJobNameBlock = "job-name";

// LIST_CHECKPOINTS, newest first.
struct CheckpointEntry {
  uint32_t number = 0;
  uint32_t parent = 0;  // an incremental one builds on it; 0: full
  uint64_t rows = 0;
  uint64_t bytes = 0;
  uint64_t wall_unix_ns = 0;
  std::vector<std::string> attachments;
  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};
Frame EncodeCheckpointList(std::span<const CheckpointEntry> entries);
Result<std::vector<CheckpointEntry>> DecodeCheckpointList(std::span<const std::byte> bytes);

}  // namespace strata::wire
