#include "ps/client/remote_checkpointer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "proto/wire/checkpoint_payload.h"
#include "proto/wire/cut_limit.h"

namespace strata {
namespace {

using wire::Command;

constexpr uint16_t kFirstLane = 0;  // lane 0 of server 0: keeps the folder of checkpoints

std::string TextOf(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes().data()), frame.size()};
}

CheckpointInfo InfoOf(wire::CheckpointEntry entry) {
  return {.number = entry.number,
          .parent = entry.parent,
          .rows = entry.rows,
          .bytes = entry.bytes,
          .wall_unix_ns = static_cast<int64_t>(entry.wall_unix_ns),
          .attachments = std::move(entry.attachments)};
}

// What a reply to LIST_CHECKPOINTS says of manifests that cannot be read. An older server says
// nothing.
Result<std::vector<CheckpointInfo>> DamagedIn(const wire::Received& reply) {
  std::vector<CheckpointInfo> infos;
  if (reply.payload.size() < 2) return infos;
  STRATA_ASSIGN(const std::vector<wire::NamedBlock> blocks,
                wire::DecodeNamedBlocks(reply.payload[1]));
  for (const auto& [name, reason] : blocks) {
    CheckpointInfo info{.attachments = {}, .damage = TextOf(reason)};
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data(), end, info.number).ptr != end || info.damage.empty()) {
      return Invalid(
          fmt::format("a damaged checkpoint: expected its number and why it cannot be "
                      "read, found '{}' and '{}'",
                      name, info.damage));
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

Frame BytesOf(std::string_view text) { return Frame::Copy(std::as_bytes(std::span(text))); }

Result<Message> CommitPayload(const std::vector<wire::Received>& saved,
                              std::span<const Attachment> attachments, const std::string& job) {
  std::vector<Frame> parts;
  for (const wire::Received& reply : saved) parts.push_back(reply.payload[0]);
  std::vector<wire::NamedBlock> blocks;
  for (const Attachment& attachment : attachments) {
    blocks.push_back({attachment.name, BytesOf(attachment.bytes)});
  }
  if (!job.empty()) {
    blocks.push_back({std::string(wire::kJobNameBlock), BytesOf(job)});
  }
  Message payload = {wire::EncodeBlocks(parts), wire::EncodeNamedBlocks(blocks)};
  constexpr size_t kBytesMax = wire::kMessageBytesMax - wire::kHeaderBytes;
  if (const size_t bytes = MessageBytes(payload); bytes > kBytesMax) {
    return Refused(
        fmt::format("a checkpoint's attachments and descriptions: expected at most {} "
                    "bytes, found {}",
                    kBytesMax, bytes));
  }
  return payload;
}

}  // namespace

Result<uint32_t> RemoteCheckpointer::Cut(TimeNs deadline) {
  STRATA_ASSIGN(const std::vector<CheckpointInfo> known, List(deadline));
  STRATA_ASSIGN(const std::vector<wire::Received> lanes,
                caller_.CallLanes({.command = Command::kPing, .deadline = deadline}));
  uint32_t newest = 0;
  for (const CheckpointInfo& info : known) {
    newest = std::max(newest, wire::CutOrNone(info.number));
  }
  for (const wire::Received& reply : lanes) {
    newest = std::max(newest, wire::CutOrNone(reply.header.cut));
  }
  if (newest == wire::kCutMax) return Refused("there is no number left for another checkpoint");
  STRATA_ASSIGN(const std::vector<wire::Received> given,
                caller_.CallLanes({.command = Command::kCut,
                                   .number = newest + 1,
                                   .lane = kFirstLane,
                                   .deadline = deadline}));
  if (given.at(0).header.cursor <= newest || given.at(0).header.cursor > wire::kCutMax) {
    return Invalid(fmt::format("server 0 gave a checkpoint's number: expected {} to {}, found {}",
                               newest + 1, wire::kCutMax, given.at(0).header.cursor));
  }
  const auto number = static_cast<uint32_t>(given.at(0).header.cursor);
  STRATA_ASSIGN(
      const std::vector<wire::Received> cut,
      caller_.CallLanes({.command = Command::kPing, .cut = number, .deadline = deadline}));
  for (const wire::Received& reply : cut) {
    if (reply.header.cut >= number) continue;
    return Refused(fmt::format("a lane answered cut {} to cut {}: its server keeps no checkpoints",
                               reply.header.cut, number));
  }
  return number;
}

Status RemoteCheckpointer::Commit(uint32_t number, bool full,
                                  std::span<const Attachment> attachments, TimeNs deadline) {
  STRATA_ASSIGN(const std::vector<wire::Received> saved,
                caller_.CallLanes({.command = Command::kCheckpoint,
                                   .flags = full ? uint32_t{wire::kFlagFull} : 0,
                                   .number = number,
                                   .deadline = deadline}));
  STRATA_ASSIGN(Message payload, CommitPayload(saved, attachments, job_));
  return caller_
      .CallLanes({.command = Command::kCommitCheckpoint,
                  .number = number,
                  .lane = kFirstLane,
                  .payload = std::move(payload),
                  .deadline = deadline})
      .status();
}

// The checkpoint exists: what goes wrong now does no harm to it, and the next one trims too.
void RemoteCheckpointer::Trim(uint32_t number, TimeNs deadline) {
  auto trimmed =
      caller_.CallLanes({.command = Command::kTrimLog, .number = number, .deadline = deadline});
  if (trimmed.ok()) {
    trimmed = caller_.CallLanes({.command = Command::kTrimLog,
                                 .flags = wire::kFlagFull,
                                 .number = number,
                                 .lane = kFirstLane,
                                 .deadline = deadline});
  }
  if (!trimmed.ok()) {
    Log(LogLevel::kWarning, "checkpoint {}: logs are not trimmed behind it: {}", number,
        trimmed.status().ToString());
  }
}

Result<CheckpointInfo> RemoteCheckpointer::Save(uint32_t number, bool full,
                                                std::span<const Attachment> attachments,
                                                TimeNs deadline) {
  const Status committed = Commit(number, full, attachments, deadline);
  if (committed.ok()) Trim(number, deadline);
  // Without it the next one begins all the same, a little later.
  static_cast<void>(caller_.CallLanes({.command = Command::kCut,
                                       .flags = wire::kFlagDone,
                                       .number = number,
                                       .lane = kFirstLane,
                                       .deadline = deadline}));
  STRATA_TRY(committed);
  STRATA_ASSIGN(std::vector<CheckpointInfo> known, List(deadline));
  const auto at = std::ranges::find(known, number, &CheckpointInfo::number);
  if (at != known.end() && !at->damage.empty()) return Corrupt(at->damage);
  if (at != known.end()) return std::move(*at);
  return NotFound(fmt::format("checkpoint {} was committed, and is not listed", number));
}

Result<std::vector<CheckpointInfo>> RemoteCheckpointer::List(TimeNs deadline) {
  STRATA_ASSIGN(const std::vector<wire::Received> replies,
                caller_.CallLanes({.command = Command::kListCheckpoints,
                                   .flags = wire::kFlagFull,
                                   .lane = kFirstLane,
                                   .deadline = deadline}));
  STRATA_ASSIGN(std::vector<wire::CheckpointEntry> entries,
                wire::DecodeCheckpointList(replies.at(0).payload[0].bytes()));
  STRATA_ASSIGN(std::vector<CheckpointInfo> infos, DamagedIn(replies.at(0)));
  for (wire::CheckpointEntry& entry : entries) infos.push_back(InfoOf(std::move(entry)));
  std::ranges::sort(infos, std::ranges::greater(), &CheckpointInfo::number);
  return infos;
}

Result<std::string> RemoteCheckpointer::ReadAttachment(uint32_t number, const std::string& name,
                                                       TimeNs deadline) {
  STRATA_ASSIGN(const std::vector<wire::Received> replies,
                caller_.CallLanes({.command = Command::kReadAttachment,
                                   .number = number,
                                   .lane = kFirstLane,
                                   .payload = {BytesOf(name)},
                                   .deadline = deadline}));
  return TextOf(replies.at(0).payload[0]);
}

Status RemoteCheckpointer::Restore(uint32_t number, TimeNs deadline) {
  return caller_.CallLanes({.command = Command::kRestore, .number = number, .deadline = deadline})
      .status();
}

Status RemoteCheckpointer::RestoreTable(uint32_t number, const std::string& table,
                                        TimeNs deadline) {
  return caller_
      .CallLanes({.command = Command::kRestore,
                  .number = number,
                  .payload = {BytesOf(table)},
                  .deadline = deadline})
      .status();
}

}  // namespace strata
