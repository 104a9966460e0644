// RESTORE: all tables, or the one that it names, are replaced by what a checkpoint holds for this
// lane. A write like others, but that its tables are loaded in the background first; meanwhile the
// lane is not there for others.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "ps/commands/checkpoints.h"
#include "ps/commands/dispatch.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/checkpoint_marks.h"
#include "storage/table_spec.h"

namespace strata {
namespace {

LaneLoad LoadOf(const LaneState& lane, uint32_t number, const std::string& table, bool is_marked) {
  return {.from = *lane.config.checkpoints,
          .cluster_id = lane.config.cluster_id,
          .number = number,
          .map = lane.config.map,
          .index = lane.index,
          .with_image = false,
          .is_marked = is_marked,
          .table = table,
          .make_table = lane.config.make_table};
}

// The only table that the request is about; "": all.
Result<std::string> TableNameOf(const Request& request) {
  if (request.payload.empty()) return std::string();
  const std::span<const std::byte> bytes = request.payload[0].bytes();
  std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  STRATA_TRY(ValidateName("table name", name));
  return name;
}

// A table of another name may have the id of the one that is to be put back.
Status CheckPlace(const LaneState& lane, const std::string& table) {
  const auto found = lane.tables.find(ShortId(TableIdOf(table)));
  if (table.empty() || found == lane.tables.end()) return {};
  const std::string& present = found->second->spec().name;
  if (present == table) return {};
  return AlreadyExists(fmt::format("the names '{}' and '{}' have the same table id {:#010x}", table,
                                   present, found->first));
}

format::Digest DigestOf(const format::CheckpointManifest& manifest) {
  const std::string text = format::EncodeCheckpointManifest(manifest);
  return format::DigestOf(std::as_bytes(std::span(text)));
}

// A lane with a log needs the checkpoint from now on. Whoever committed it may have died before it
// was durable.
Status Keep(const LaneLoad& load) {
  if (load.from.base == nullptr) {
    return ReadCheckpointManifest(*load.from.disk, load.from.root, load.number).status();
  }
  STRATA_TRY(CheckCheckpointOwner(*load.from.disk, load.from.root, load.cluster_id, load.number));
  return MarkNeeded(*load.from.disk, load.from.root, load.number, load.map->lanes[load.index]);
}

void ReplaceAll(LaneState& lane, Tables tables, const Status& reason) {
  AnswerEnded(lane, lane.barrier.EndAll(reason));
  for (const auto& [id, table] : lane.tables) lane.NotePast(*table);
  lane.tables = std::move(tables);
  lane.last_push.clear();
}

void ReplaceOne(LaneState& lane, Tables tables, const Status& reason) {
  const auto loaded = tables.begin();
  AnswerEnded(lane, lane.barrier.EndTable(loaded->first, reason));
  std::unique_ptr<LocalTable>& place = lane.tables[loaded->first];
  if (place != nullptr) lane.NotePast(*place);
  place = std::move(loaded->second);
  lane.last_push.erase(loaded->first);
}

// From now on the lane holds these tables, with `table` that one instead of its own. Windows and
// groups stay: they are about the lane's life.
void Replace(LaneState& lane, uint32_t number, const std::string& table, Tables tables) {
  const Status reason = Cancelled(
      fmt::format("{} replaced by {} of checkpoint {}",
                  table.empty() ? "the tables were" : fmt::format("table '{}' was", table),
                  table.empty() ? "those" : "that", number));
  EndSaving(lane, reason);
  (table.empty() ? ReplaceAll : ReplaceOne)(lane, std::move(tables), reason);
  CheckpointState& state = lane.checkpoint;
  state.restored.insert(number);
  // Cuts never fall: what is written from now on is behind all of them.
  state.cut = std::max(state.cut, wire::CutOrNone(number));
  // The next checkpoint is full: a lane of other shards may have saved what was restored.
  state.increment_base = state.cut_base = 0;
  state.restored_cut = state.cut;
  for (const auto& [id, replaced] : lane.tables) replaced->SetEpoch(state.cut);
  lane.KeepTablesToShares();
}

Result<Lsn> Apply(LaneState& lane, const Restoring& restoring, LoadedLane loaded) {
  RecordBody body;
  const uint32_t number = loaded.manifest.number;
  const std::vector<std::byte> bytes =
      EncodeRestored({restoring.request, number, DigestOf(loaded.manifest), restoring.table});
  body.Add(bytes);
  STRATA_ASSIGN(const Lsn lsn, lane.Append(RecordKind::kRestored, body.pieces()));
  Replace(lane, number, restoring.table, std::move(loaded.tables));
  return lsn;
}

// A load whose RESTORE has ended meanwhile changes nothing.
void Finish(LaneState& lane, const std::shared_ptr<Restoring>& restoring,
            Result<LoadedLane> loaded) {
  if (lane.checkpoint.restoring != restoring) return;
  lane.checkpoint.restoring.reset();
  const wire::Header& request = restoring->request;
  const ClientId client{request.client_hi, request.client_lo};
  const uint64_t number = request.cursor;
  const Result<Lsn> lsn =
      loaded.ok() ? Apply(lane, *restoring, std::move(*loaded)) : loaded.status();
  if (lsn.ok()) {
    lane.dedup.Decide(client, request.sequence, {}, *lsn);
  } else {
    lane.dedup.Withdraw(client, request.sequence);
    MarkNeededCheckpoints(lane);
  }
  uint64_t rows = 0;
  for (const auto& [id, table] : lane.tables) rows += table->Stats().rows;
  lane.Say(
      lsn.ok() ? LogLevel::kInfo : LogLevel::kWarning,
      lsn.ok()
          ? fmt::format(
                "checkpoint {} is restored: {}, {:.3f} s", number, Counted(rows, "row"),
                static_cast<double>(lane.config.checkpoints->clock->Now() - restoring->begun) /
                    kSecond)
          : fmt::format("checkpoint {} cannot be restored: {}", number, lsn.status().message()));
  for (const ReplyTo& to : restoring->waiting) {
    lane.ReplyToWrite(to, lsn.status(), lsn.ok() ? *lsn : 0);
  }
}

}  // namespace

Status LoadsCheckpoint(const LaneState& lane) {
  return Unavailable(fmt::format("server {} lane {} is loading checkpoint {}; ask again",
                                 lane.config.name.server, lane.config.name.lane,
                                 lane.checkpoint.restoring->request.cursor));
}

void EndRestoring(LaneState& lane, const Status& reason) {
  const std::shared_ptr<Restoring> restoring = std::move(lane.checkpoint.restoring);
  if (restoring == nullptr) return;
  const wire::Header& request = restoring->request;
  lane.dedup.Withdraw({request.client_hi, request.client_lo}, request.sequence);
  for (const ReplyTo& to : restoring->waiting) lane.Reply(to, reason);
}

Result<Applied> BeginRestore(LaneState& lane, Request& request) {
  const MustAllocate must;  // the window knows of it, and it is begun
  STRATA_TRY(lane.CheckNotDraining());
  if (lane.checkpoint.restoring != nullptr) return LoadsCheckpoint(lane);
  STRATA_ASSIGN(const uint32_t number, CheckpointNumberOf(lane, request));
  STRATA_ASSIGN(const std::string table, TableNameOf(request));
  STRATA_TRY(CheckPlace(lane, table));
  lane.dedup.Park(request.client(), request.header.sequence);
  const auto restoring = std::make_shared<Restoring>();
  restoring->request = request.header;
  restoring->table = table;
  restoring->waiting = {request.reply_to()};
  restoring->begun = lane.config.checkpoints->clock->Now();
  lane.checkpoint.restoring = restoring;
  lane.InBackground([restoring, load = LoadOf(lane, number, table, false)]() -> Finished::Then {
    // Before it is loaded, and long before the lane's log names it.
    const Status stays = Keep(load);
    auto loaded = std::make_shared<Result<LoadedLane>>(stays);
    if (stays.ok()) {
      *loaded = OrOutOfMemory("a checkpoint that is loaded", [&] { return LoadLane(load); });
    }
    return [restoring, loaded](LaneState& state) { Finish(state, restoring, std::move(*loaded)); };
  });
  return Applied();
}

bool JoinRestore(LaneState& lane, const Request& request) {
  Restoring* restoring = lane.checkpoint.restoring.get();
  if (restoring == nullptr || request.header.command != wire::Command::kRestore) return false;
  const wire::Header& first = restoring->request;
  if (first.client_hi != request.header.client_hi || first.client_lo != request.header.client_lo ||
      first.sequence != request.header.sequence || first.cursor != request.header.cursor) {
    return false;
  }
  constexpr size_t kWaitingMax = 16;
  if (restoring->waiting.size() >= kWaitingMax) restoring->waiting.pop_back();
  restoring->waiting.push_back(request.reply_to());
  return true;
}

Status ReplayRestored(LaneState& lane, const LogRecord& record, TimeNs now) {
  STRATA_ASSIGN(const LoggedRestore restored, DecodeRestored(record.body));
  if (!lane.config.checkpoints) {
    return Refused(
        fmt::format("it restored checkpoint {}: set server.checkpoints to the folder "
                    "that holds it",
                    restored.number));
  }
  STRATA_ASSIGN(LoadedLane loaded, LoadLane(LoadOf(lane, restored.number, restored.table, true)));
  if (DigestOf(loaded.manifest) != restored.digest) {
    return Corrupt(
        fmt::format("checkpoint {} is not the one that was restored: its manifest has "
                    "digest {}, expected {}",
                    restored.number, format::DigestText(DigestOf(loaded.manifest)),
                    format::DigestText(restored.digest)));
  }
  Replace(lane, restored.number, restored.table, std::move(loaded.tables));
  const wire::Header& header = restored.header;
  lane.dedup.Restore({header.client_hi, header.client_lo}, header.sequence, header.settled_below,
                     {}, record.lsn, now);
  return {};
}

}  // namespace strata
