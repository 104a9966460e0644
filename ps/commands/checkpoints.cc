// COMMIT_CHECKPOINT, TRIM_LOG, LIST_CHECKPOINTS, READ_ATTACHMENT: the folder of checkpoints, looked
// at and changed in the background.
#include "ps/commands/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/human_text.h"
#include "base/log.h"
#include "proto/format/log_base.h"
#include "proto/wire/checkpoint_payload.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/checkpoint_marks.h"
#include "storage/table_spec.h"

namespace strata {
namespace {

Finished::Then Answer(const ReplyTo& to, const Status& status, Message payload = {}) {
  return [to, status, payload = std::move(payload)](LaneState& lane) {
    lane.Reply(to, status, payload);
  };
}

std::string Text(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes().data()), frame.size()};
}

struct Commit {
  format::CheckpointManifest draft;
  std::vector<Attachment> attachments;
};

// In the background: descriptions take long to read.
Status DecodeCommit(const Message& payload, Commit* commit) {
  STRATA_ASSIGN(const std::vector<Frame> parts, wire::DecodeBlocks(payload[0]));
  const size_t lanes = commit->draft.shards.lanes.size();
  if (parts.size() > lanes) {
    return Invalid(fmt::format("{} of {}", Counted(parts.size(), "part"), Counted(lanes, "lane")));
  }
  for (const Frame& part : parts) {
    STRATA_ASSIGN(format::PartEntry entry, format::DecodePartEntry(Text(part)));
    commit->draft.parts.push_back(std::move(entry));
  }
  STRATA_ASSIGN(std::vector<wire::NamedBlock> blocks, wire::DecodeNamedBlocks(payload[1]));
  if (blocks.size() > format::kAttachmentsMax) {
    return Invalid(fmt::format("{} attachments; a checkpoint may have {}", blocks.size(),
                               format::kAttachmentsMax));
  }
  for (wire::NamedBlock& block : blocks) {
    if (block.name == wire::kJobNameBlock) {
      commit->draft.job = Text(block.bytes);
      STRATA_TRY(ValidateName("attachment job-name", commit->draft.job));
    } else {
      commit->attachments.push_back({std::move(block.name), Text(block.bytes)});
    }
  }
  return {};
}

Status WriteCommit(const CheckpointConfig& config, const Message& payload, Commit commit) {
  STRATA_TRY(DecodeCommit(payload, &commit));
  STRATA_TRY(CheckParentsExist(*config.disk, config.root, commit.draft));
  return CommitCheckpoint(*config.disk, config.root, std::move(commit.draft), commit.attachments)
      .status();
}

// Does the work of a request in the background, unless too much waits there: then the request is
// to come again. `bytes` is what its payload holds meanwhile.
bool AnswerInBackground(LaneState& lane, const ReplyTo& to, size_t bytes,
                        std::function<Finished::Then()> work) {
  bytes += sizeof(Request) + kParkedExtraBytes;
  size_t& waiting = lane.checkpoint.background_bytes;
  if (waiting != 0 && waiting + bytes > lane.config.queue_bytes_max / 4) {
    lane.Reply(to, Unavailable(fmt::format("requests of {} bytes about checkpoints wait for the "
                                           "disk (server.queue_memory); send this one again later",
                                           waiting)));
    return false;
  }
  waiting += bytes;
  lane.InBackground([work = std::move(work), bytes]() -> Finished::Then {
    return [then = work(), bytes](LaneState& state) {
      state.checkpoint.background_bytes -= bytes;
      then(state);
    };
  });
  return true;
}

// What a trim does with files, in this order: a base that does not exist must never be named.
Status MoveBase(const CheckpointConfig& config, const format::LogBase& base,
                const wire::LaneName& lane) {
  if (config.base == nullptr) {
    return ReadCheckpointManifest(*config.disk, config.root, base.checkpoint).status();
  }
  const Status marked = MarkNeeded(*config.disk, config.root, base.checkpoint, lane);
  // A trim is what makes room on a full disk. Nothing retires what all lanes have trimmed to.
  if (marked.code() != StatusCode::kDiskFull) STRATA_TRY(marked);
  return config.base->Replace(format::EncodeLogBase(base));
}

// What the log names, or is about to, and what the next part builds on.
std::set<uint32_t> NeededCheckpoints(const CheckpointState& state) {
  std::set<uint32_t> needed = state.restored;
  for (const uint32_t base : {state.log_base, state.next_base, state.cut_base}) {
    if (base != 0) needed.insert(base);
  }
  if (state.restoring != nullptr) {
    needed.insert(static_cast<uint32_t>(state.restoring->request.cursor));
  }
  return needed;
}

// Its log may begin after a checkpoint.
bool HasBase(const LaneState& lane) {
  return lane.config.checkpoints && lane.config.checkpoints->base != nullptr;
}

// Marks in the folder what the lane's log needs, and nothing else. For the background.
std::function<void()> MarkingOf(const LaneState& lane) {
  if (!HasBase(lane)) return [] {};
  return [config = *lane.config.checkpoints, name = lane.config.name,
          needed = NeededCheckpoints(lane.checkpoint)] {
    Status marked;
    for (const uint32_t number : needed) {
      if (marked.ok()) marked = MarkNeeded(*config.disk, config.root, number, name);
    }
    if (marked.ok()) marked = UnmarkOthers(*config.disk, config.root, needed, name);
    if (!marked.ok()) Log(LogLevel::kWarning, "checkpoints: {}", marked.ToString());
  };
}

// `below`: the number that all lanes have trimmed to, as the client says.
void Retire(LaneState& lane, uint32_t below) {
  const RetireLimits limits{.below = std::min(below, lane.checkpoint.log_base),
                            .lanes = lane.config.map->lanes};
  lane.InBackground([config = *lane.config.checkpoints, limits,
                     needed = NeededCheckpoints(lane.checkpoint)]() -> Finished::Then {
    const auto gone = RetireCheckpoints(*config.disk, config.root, config.keep, needed, limits);
    if (!gone.ok()) Log(LogLevel::kWarning, "checkpoints: {}", gone.status().ToString());
    return [](LaneState&) {};
  });
}

// The base is durable: what lies before it may go, and the answer with it. A large file takes a
// disk so long to remove that the lane would be missed.
void Trim(LaneState& lane, const ReplyTo& to, const format::LogBase& base) {
  CheckpointState& state = lane.checkpoint;
  state.log_base = base.checkpoint;
  state.next_base = 0;
  if (base.checkpoint >= state.cut) state.cut_base = 0;  // its manifest names what it builds on
  if (base.checkpoint > state.restored_cut) state.restored.clear();
  std::erase_if(state.cut_records, [&](const auto& cut) { return cut.first <= base.checkpoint; });
  if (base.checkpoint > std::max(state.increment_base, state.restored_cut)) {
    state.increment_base = base.checkpoint;
    for (const auto& [id, table] : lane.tables) table->ForgetErased(base.checkpoint);
  }
  if (lane.log == nullptr) return lane.Reply(to, {});
  lane.InBackground([to, remove = lane.log->TakeBelow(base.cut_lsn), mark = MarkingOf(lane),
                     file = lane.config.checkpoints->base]() -> Finished::Then {
    const Status removed = remove();
    mark();
    // For the next one, if there was none until now.
    if (file != nullptr) static_cast<void>(file->KeepRoom(format::kLogBaseBytesMax));
    return [to, removed](LaneState& then) {
      if (!removed.ok()) then.log_failure = removed;
      then.Reply(to, removed);
    };
  });
}

}  // namespace

void MarkNeededCheckpoints(LaneState& lane) {
  if (!HasBase(lane)) return;
  lane.InBackground([mark = MarkingOf(lane)]() -> Finished::Then {
    mark();
    return [](LaneState&) {};
  });
}

Status CheckFirstLane(const LaneState& lane) {
  if (lane.index == 0) return {};
  return Refused(fmt::format("this is server {} lane {}; ask lane 0 of server 0",
                             lane.config.name.server, lane.config.name.lane));
}

void HandleCommitCheckpoint(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  if (const Status first = CheckFirstLane(lane); !first.ok()) return lane.Reply(to, first);
  const Result<uint32_t> number = CheckpointNumberOf(lane, request);
  if (!number.ok()) return lane.Reply(to, number.status());
  if (*number > lane.checkpoint.cut) {
    return lane.Reply(
        to, Invalid(fmt::format("checkpoint {} cannot be committed: the newest cut here is {}",
                                *number, lane.checkpoint.cut)));
  }
  if (const Status kept = lane.CheckNotLost(); !kept.ok()) return lane.Reply(to, kept);
  const CheckpointConfig& config = *lane.config.checkpoints;
  Commit commit;
  commit.draft.number = *number;
  commit.draft.cluster = lane.config.cluster_id;
  commit.draft.shards = *lane.config.map;
  commit.draft.wall_unix_ns = static_cast<uint64_t>(config.clock->WallUnixNs());
  lane.checkpoint.turn.Hear(request.client(), *number, request.now);
  const size_t bytes = MessageBytes(request.payload);
  const auto write = [config, commit = std::move(commit), payload = std::move(request.payload),
                      to]() -> Finished::Then {
    const Status committed = WriteCommit(config, payload, commit);
    return [to, committed](LaneState& state) {
      state.checkpoint.turn.EndCommit();
      state.Reply(to, committed);
    };
  };
  if (AnswerInBackground(lane, to, bytes, write)) lane.checkpoint.turn.BeginCommit();
}

void HandleTrimLog(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<uint32_t> number = CheckpointNumberOf(lane, request);
  if (!number.ok()) return lane.Reply(to, number.status());
  // Only then does no lane's base name an older one.
  if (request.header.is(wire::kFlagFull)) {
    if (const Status first = CheckFirstLane(lane); !first.ok()) return lane.Reply(to, first);
    Retire(lane, *number);
  }
  CheckpointState& state = lane.checkpoint;
  if (*number <= state.log_base) return lane.Reply(to, {});
  // The files change in the order of the requests: a base must not move back.
  if (state.next_base != 0) {
    return lane.Reply(to, Unavailable(fmt::format(
                              "server {} lane {} is trimming its log up to checkpoint {}; ask "
                              "again",
                              lane.config.name.server, lane.config.name.lane, state.next_base)));
  }
  const auto cut = state.cut_records.find(*number);
  if (cut == state.cut_records.end()) {
    return lane.Reply(
        to, Invalid(fmt::format("server {} lane {} has not made the cut {}",
                                lane.config.name.server, lane.config.name.lane, *number)));
  }
  const format::LogBase base{.lineage = LineageOf(lane.incarnation()),
                             .lane = lane.config.name.lane,
                             .checkpoint = *number,
                             .cut_lsn = cut->second};
  state.next_base = *number;
  const auto move = [to, base, config = *lane.config.checkpoints,
                     name = lane.config.name]() -> Finished::Then {
    const Status moved = MoveBase(config, base, name);
    return [to, base, moved](LaneState& then) {
      if (moved.ok()) return Trim(then, to, base);
      then.checkpoint.next_base = 0;
      then.Reply(to, moved);
    };
  };
  if (!AnswerInBackground(lane, to, 0, move)) state.next_base = 0;
}

void HandleListCheckpoints(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  if (const Status keeps = CheckKeepsCheckpoints(lane); !keeps.ok()) return lane.Reply(to, keeps);
  const bool tells_damaged = request.header.is(wire::kFlagFull);
  AnswerInBackground(
      lane, to, 0, [to, tells_damaged, config = *lane.config.checkpoints]() -> Finished::Then {
        const Result<CheckpointList> list = ListCheckpoints(*config.disk, config.root);
        if (!list.ok()) return Answer(to, list.status());
        std::vector<wire::NamedBlock> damaged;
        for (const CheckpointList::Damaged& one : list->damaged) {
          const std::string reason = one.status.ToString();
          Log(LogLevel::kWarning, "checkpoints: {}", reason);
          damaged.push_back(
              {fmt::to_string(one.number), Frame::Copy(std::as_bytes(std::span(reason)))});
        }
        std::vector<wire::CheckpointEntry> entries;
        for (const format::CheckpointManifest& manifest : list->checkpoints) {
          CheckpointInfo info = InfoOf(manifest);
          entries.push_back({.number = info.number,
                             .parent = info.parent,
                             .rows = info.rows,
                             .bytes = info.bytes,
                             .wall_unix_ns = manifest.wall_unix_ns,
                             .attachments = std::move(info.attachments)});
        }
        Message payload = {wire::EncodeCheckpointList(entries)};
        if (tells_damaged) payload.push_back(wire::EncodeNamedBlocks(damaged));
        return Answer(to, {}, std::move(payload));
      });
}

void HandleReadAttachment(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<uint32_t> number = CheckpointNumberOf(lane, request);
  if (!number.ok()) return lane.Reply(to, number.status());
  const size_t size = request.payload[0].size();
  AnswerInBackground(
      lane, to, size,
      [to, number = *number, name = Text(request.payload[0]),
       config = *lane.config.checkpoints]() -> Finished::Then {
        const auto manifest = ReadCheckpointManifest(*config.disk, config.root, number);
        if (!manifest.ok()) return Answer(to, manifest.status());
        const Result<std::string> bytes = OrOutOfMemory("an attachment", [&] {
          return ReadCheckpointAttachment(*config.disk, config.root, *manifest, name);
        });
        if (!bytes.ok()) return Answer(to, bytes.status());
        if (bytes->size() + wire::kHeaderBytes > wire::kMessageBytesMax) {
          return Answer(
              to, Refused(fmt::format("attachment '{}' of {} bytes does not fit a message", name,
                                      bytes->size())));
        }
        return Answer(to, {}, {Frame::Copy(std::as_bytes(std::span(*bytes)))});
      });
}

}  // namespace strata
