// CHECKPOINT: this lane's part of a cut. The cut itself comes with any request that knows of it;
// the part is written in the background, from snapshots that are read between two rounds of
// messages.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "proto/wire/cut_limit.h"
#include "ps/commands/checkpoints.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/memory/scan_pages.h"

namespace strata {
namespace {

constexpr TimeNs kUnasked = 120 * kSecond;       // then a cut that nobody wants saved is let go
constexpr size_t kPageBytes = size_t{64} << 10;  // copied between two rounds of messages
constexpr size_t kQueuedBytesMax = size_t{16} << 20;  // handed on, and not written yet
constexpr size_t kWaitingMax = 64;

size_t BytesOf(const ScanPage& page) {
  return page.keys.size() * sizeof(Key) + page.rows.size() * sizeof(float) +
         page.counters.size() * sizeof(RowCounters);
}

uint32_t PageRows(const TableSpec& spec) {
  const size_t row = SchemaOf(spec).row_bytes() + sizeof(Key);
  return static_cast<uint32_t>(std::clamp<size_t>(kPageBytes / row, 1, 4096));
}

format::PartName PartNameOf(const LaneState& lane, uint32_t number, uint32_t parent) {
  return {.number = number,
          .parent = parent,
          .server = lane.config.name.server,
          .lane = lane.config.name.lane,
          .cluster = lane.config.cluster_id};
}

// Runs `work` behind all that was handed on before, unless something of it has failed.
void Hand(LaneState& lane, const std::shared_ptr<Saving::Part>& part, size_t bytes,
          std::function<Status(PartWriter&)> work) {
  part->bytes_queued += bytes;
  lane.InBackground([part, bytes, work = std::move(work)]() -> Finished::Then {
    if (part->status.ok()) {
      part->status = OrOutOfMemory("a page of a checkpoint", [&] { return work(*part->writer); });
    }
    part->bytes_queued -= bytes;
    return [](LaneState&) {};
  });
}

void AnswerPart(LaneState& lane, const std::vector<ReplyTo>& waiting,
                const Result<std::string>& text) {
  for (const ReplyTo& to : waiting) {
    if (!text.ok()) {
      lane.Reply(to, text.status());
      continue;
    }
    lane.Reply(to, {}, {Frame::Copy(std::as_bytes(std::span(*text)))});
  }
}

Status SaveTableRows(LaneState& lane, Saving& saving, Saving::Table& table) {
  const std::shared_ptr<ScanPage> page = saving.part->TakePage();
  page->rows_max = PageRows(table.spec);
  page->done = false;
  STRATA_TRY(table.table->SnapshotPage(*page));
  const bool done = page->done;
  if (table.since != 0) {
    KeepRows(page.get(),
             [&](size_t i) { return page->counters[i].checkpoint_epoch >= table.since; });
  }
  const TableId id = table.spec.id();
  Hand(lane, saving.part, BytesOf(*page),
       [page, id, part = saving.part.get()](PartWriter& writer) -> Status {
         STRATA_TRY(writer.AddRows(id, *page));
         part->GiveBack(page);
         return {};
       });
  if (!done) return {};
  table.table->EndSnapshot();
  ++saving.next;
  saving.table_begun = false;
  return {};
}

void BeginTable(LaneState& lane, Saving& saving, Saving::Table& table) {
  if (saving.full) table.since = 0;
  saving.table_begun = true;
  Hand(lane, saving.part, 0,
       [spec = table.spec, since = table.since,
        erased = std::move(table.erased)](PartWriter& writer) -> Status {
         STRATA_TRY(writer.AddTable(spec, since));
         return since == 0 ? Status() : writer.AddErased(spec.id(), erased);
       });
}

std::string DoneText(const format::PartEntry& part, uint32_t number, TimeNs time) {
  return fmt::format("checkpoint {} is saved: {}, {}, {:.3f} s", number,
                     Counted(part.rows(), "row"), HumanBytes(part.bytes),
                     static_cast<double>(time) / kSecond);
}

// All rows are handed on: what is left is the image and the part's end.
void FinishPart(LaneState& lane, Saving& saving) {
  auto answer = [number = saving.number, begun = saving.begun,
                 clock = lane.config.checkpoints->clock, part = saving.part,
                 image = std::move(saving.image),
                 waiting = std::move(saving.waiting)]() -> Finished::Then {
    if (part->status.ok()) part->status = part->writer->AddLaneImage(image);
    Result<std::string> text = part->status;
    std::string line;
    if (part->status.ok()) {
      const Result<format::PartEntry> entry = part->writer->Finish();
      text = entry.ok() ? Result<std::string>(format::EncodePartEntry(*entry)) : entry.status();
      if (entry.ok()) line = DoneText(*entry, number, clock->Now() - begun);
    }
    if (!text.ok()) line = fmt::format("checkpoint {} failed: {}", number, text.status().message());
    part->writer.reset();
    return [number, waiting, text, line](LaneState& to) {
      to.checkpoint.saved = {number, text};
      to.Say(text.ok() ? LogLevel::kInfo : LogLevel::kWarning, line);
      AnswerPart(to, waiting, text);
    };
  };
  lane.InBackground(std::move(answer));
}

void BeginSaving(LaneState& lane, Saving& saving, bool full) {
  saving.full = full;
  saving.part = std::make_shared<Saving::Part>();
  const CheckpointConfig& config = *lane.config.checkpoints;
  saving.begun = config.clock->Now();
  lane.Say(LogLevel::kInfo, fmt::format("checkpoint {} begins", saving.number));
  lane.InBackground([part = saving.part, disk = config.disk, root = config.root,
                     name = PartNameOf(lane, saving.number,
                                       full ? 0 : lane.checkpoint.cut_base)]() -> Finished::Then {
    part->status = CheckCheckpointOwner(*disk, root, name.cluster);
    if (!part->status.ok()) return [](LaneState&) {};
    Result<std::unique_ptr<PartWriter>> writer = PartWriter::Create(*disk, root, name);
    part->status = writer.status();
    if (writer.ok()) part->writer = std::move(*writer);
    return [](LaneState&) {};
  });
}

Status Unsaved(const LaneState& lane, uint32_t number, const Status& file) {
  if (number > lane.checkpoint.recovered_cut) {
    return Cancelled(
        fmt::format("the cut {} came before cut {} was saved; take the checkpoint again",
                    lane.checkpoint.cut, number));
  }
  // Half a part is what such an end leaves, too.
  const bool missing = file.code() == StatusCode::kNotFound;
  return Cancelled(fmt::format(
      "server {} has restarted since the cut {}, before its part of it was saved{}{}; take the "
      "checkpoint again",
      lane.config.name.server, number, missing ? "" : ": ", missing ? "" : file.message()));
}

// The cut was made by a process that is gone, or the part was written long ago: the file tells.
void AnswerFromFile(LaneState& lane, const ReplyTo& to, uint32_t number) {
  const CheckpointConfig& config = *lane.config.checkpoints;
  lane.InBackground([to, disk = config.disk, root = config.root,
                     name = PartNameOf(lane, number, 0)]() -> Finished::Then {
    const Result<format::PartEntry> entry = DescribePart(*disk, root, name);
    if (!entry.ok()) {
      return [to, number = name.number, file = entry.status()](LaneState& state) {
        state.Reply(to, Unsaved(state, number, file));
      };
    }
    return [to, text = format::EncodePartEntry(*entry)](LaneState& state) {
      AnswerPart(state, {to}, text);
    };
  });
}

}  // namespace

Status CheckKeepsCheckpoints(const LaneState& lane) {
  if (lane.config.checkpoints) return {};
  return Refused(
      "this server keeps no checkpoints: they need a data folder (server.data) or, with several "
      "servers, a folder that all of them share (server.checkpoints)");
}

Result<uint32_t> CheckpointNumberOf(const LaneState& lane, const Request& request) {
  STRATA_TRY(CheckKeepsCheckpoints(lane));
  if (request.header.cursor == 0 || request.header.cursor > wire::kCutMax) {
    return Invalid(fmt::format("a checkpoint's number: expected 1 to {}, found {}", wire::kCutMax,
                               request.header.cursor));
  }
  return static_cast<uint32_t>(request.header.cursor);
}

Status CutLane(LaneState& lane, uint32_t number, TimeNs now) {
  CheckpointState& state = lane.checkpoint;
  RecordBody body;
  const std::vector<std::byte> bytes = EncodeCut(number);
  body.Add(bytes);
  STRATA_ASSIGN(const Lsn lsn, lane.Append(RecordKind::kCut, body.pieces()));
  // Whoever hears of the cut counts on it, and the part that is saved holds all before it: were the
  // record lost with the power, the lane would cut again, behind other writes.
  STRATA_TRY(lane.SyncLog());
  EndSaving(lane, Cancelled(fmt::format(
                      "the cut {} came before cut {} was saved; take the checkpoint again", number,
                      state.cut)));
  state.cut = number;
  state.cut_base = state.increment_base;
  state.cut_records[number] = lsn;
  const bool save = lane.config.checkpoints.has_value() && lane.replayed == 0;
  if (save) {
    state.saving = std::make_unique<Saving>();
    state.saving->number = number;
    state.saving->deadline = now + kUnasked;
    format::LaneImage image;
    lane.dedup.SaveTo(&image);
    lane.barrier.SaveTo(&image);
    state.saving->image = format::EncodeLaneImage(image);
  }
  for (const auto& [id, table] : lane.tables) {
    if (save) {
      Saving::Table& saved = state.saving->tables.emplace_back();
      saved.spec = table->spec();
      saved.table = table.get();
      // All rows, whatever is wanted later; what is older than `since` is then left out.
      saved.since = table->BeginSnapshot(state.cut_base);
      saved.erased = table->SnapshotErased();
      if (saved.since != 0) table->BeginSnapshot(0);
    }
    table->SetEpoch(number);
  }
  return {};
}

void EndSaving(LaneState& lane, const Status& reason) {
  const std::unique_ptr<Saving> saving = std::move(lane.checkpoint.saving);
  if (saving == nullptr) return;
  lane.checkpoint.saved = {saving->number, reason};
  for (size_t i = saving->next; i < saving->tables.size(); ++i) {
    saving->tables[i].table->EndSnapshot();
  }
  if (saving->part != nullptr) {
    lane.Say(LogLevel::kWarning,
             fmt::format("checkpoint {} failed: {}", saving->number, reason.message()));
    Hand(lane, saving->part, 0, [reason](PartWriter&) { return reason; });
  }
  AnswerPart(lane, saving->waiting, reason);
}

bool CanSaveMore(const LaneState& lane) {
  const Saving* saving = lane.checkpoint.saving.get();
  return saving != nullptr && saving->part != nullptr &&
         saving->part->bytes_queued < kQueuedBytesMax;
}

void SaveMore(LaneState& lane) {
  Saving& saving = *lane.checkpoint.saving;
  if (saving.next < saving.tables.size()) {
    Saving::Table& table = saving.tables[saving.next];
    if (!saving.table_begun) BeginTable(lane, saving, table);
    if (const Status status = SaveTableRows(lane, saving, table); !status.ok()) {
      return EndSaving(lane, status);
    }
  }
  if (saving.next < saving.tables.size()) return;
  FinishPart(lane, saving);
  lane.checkpoint.saving.reset();
}

std::unique_ptr<LocalTable> KeepForSaving(LaneState& lane, std::unique_ptr<LocalTable> table) {
  Saving* saving = lane.checkpoint.saving.get();
  if (saving == nullptr) return table;
  const auto found = std::ranges::find(saving->tables, table.get(), &Saving::Table::table);
  if (found == saving->tables.end()) return table;
  saving->dropped[ShortId(table->spec().id())] = std::move(table);
  return nullptr;
}

void HandleCheckpoint(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<uint32_t> number = CheckpointNumberOf(lane, request);
  if (!number.ok()) return lane.Reply(to, number.status());
  if (const Status kept = lane.CheckNotLost(); !kept.ok()) return lane.Reply(to, kept);
  CheckpointState& state = lane.checkpoint;
  state.turn.Hear(request.client(), *number, request.now);
  if (*number > state.cut) {
    Status cut = CheckNewCut(lane, *number, request.now);
    if (cut.ok()) cut = CutLane(lane, *number, request.now);
    if (!cut.ok()) return lane.Reply(to, cut);
  }
  Saving* saving = state.saving.get();
  if (saving == nullptr || saving->number != *number) {
    if (state.saved.first != *number) return AnswerFromFile(lane, to, *number);
    return AnswerPart(lane, {to}, state.saved.second);
  }
  if (saving->part == nullptr) BeginSaving(lane, *saving, request.header.is(wire::kFlagFull));
  if (saving->waiting.size() >= kWaitingMax) saving->waiting.erase(saving->waiting.begin());
  saving->waiting.push_back(to);
}

}  // namespace strata
