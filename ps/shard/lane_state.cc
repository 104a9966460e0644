#include "ps/shard/lane_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "base/human_text.h"
#include "proto/wire/command_table.h"

namespace strata {
namespace {

uint16_t IndexIn(const wire::ShardMap& map, const wire::LaneName& name) {
  const auto found = std::ranges::find(map.lanes, name);
  STRATA_CHECK_MSG(found != map.lanes.end(),
                   fmt::format("server {} lane {} is not in the map", name.server, name.lane));
  return static_cast<uint16_t>(found - map.lanes.begin());
}

// What a lane finds damaged of its own is no damage of the message, which would be sent again.
Status ForSender(const Status& status) {
  if (status.code() != StatusCode::kCorrupt) return status;
  return Failed("CORRUPT: " + status.message());
}

Status OtherName(std::string_view what, const std::string& name, const wire::Header& header) {
  return NotFound(fmt::format(
      "the {} that the request names does not exist: its id {:#010x} is that of {} '{}', whose "
      "name has another check ({:#010x} is the request's)",
      what, header.table, what, name, header.name_check));
}

Status AtApply() {
  STRATA_FAILPOINT("lane.apply");
  return {};
}

}  // namespace

std::string Recovery::Text() const {
  if (bytes_total == 0) return "recovering";  // nothing to count: it begins, or loads a checkpoint
  return fmt::format("recovering: {} %, {} of {} of its log", 100 * bytes_done / bytes_total,
                     HumanBytes(bytes_done), HumanBytes(bytes_total));
}

LaneState::LaneState(LaneConfig config_in, LaneMetrics& metrics_in)
    : config(std::move(config_in)),
      index(IndexIn(*config.map, config.name)),
      metrics(metrics_in),
      dedup(config.dedup),
      barrier(config.queue_bytes_max),
      credits(config.queue_bytes_max / 2),
      searches(config.queue_bytes_max / 2) {
  if (config.durable) recovery.emplace();
  if (config.collections) collections.copies = config.collections->copies;
}

Status LaneState::Count(Refusal reason, Status outcome) const {
  if (outcome.code() == StatusCode::kRefused) metrics.RefusedFor(reason).Add();
  return outcome;
}

Result<LocalTable*> LaneState::FindTable(const wire::Header& header) const {
  const auto found = tables.find(header.table);
  if (found == tables.end()) {
    return NotFound(
        fmt::format("no table with id {:#010x} on server {} lane {}; create it first, or restore a "
                    "checkpoint if "
                    "this server came back without its data",
                    header.table, config.name.server, config.name.lane));
  }
  const TableSpec& spec = found->second->spec();
  if (header.Names(static_cast<uint64_t>(spec.id()))) return found->second.get();
  return OtherName("table", spec.name, header);
}

Result<std::shared_ptr<Collection>> LaneState::FindCollection(const wire::Header& header) const {
  const auto found = collections.of_id.find(header.table);
  if (found == collections.of_id.end()) {
    return NotFound(
        fmt::format("server {} lane {} has no such collection (id {:#010x}): it was never created, "
                    "was dropped, or the server came back without its data",
                    config.name.server, config.name.lane, header.table));
  }
  const std::string& name = found->second->definition().name;
  if (header.Names(wire::CollectionIdOf(name))) return found->second;
  return OtherName("collection", name, header);
}

Status LaneState::CheckOwned(std::span<const Key> keys) const {
  for (const Key key : keys) {
    const uint32_t shard = wire::ShardOf(key);
    const uint16_t owner = config.map->owner[shard];
    if (owner == index) continue;
    const wire::LaneName& lane = config.map->lanes[owner];
    return Count(
        Refusal::kMap,
        Refused(fmt::format("key {} is in shard {}, which server {} lane {} owns in epoch {}; "
                            "this is server {} lane {}: fetch the shard map again",
                            key, shard, lane.server, lane.lane, config.map->epoch,
                            config.name.server, config.name.lane)));
  }
  return {};
}

Status LaneState::CheckNotLost() const {
  if (draining != DrainReason::kLost) return {};
  return Refused(fmt::format(
      "server {} has lost its data folder: it takes no writes and no checkpoints any more; its "
      "log and strata-admin status say what is missing and how to go on",
      config.name.server));
}

Status LaneState::CheckNotDraining() const {
  if (!draining) return {};
  if (*draining == DrainReason::kLost) return CheckNotLost();
  if (*draining == DrainReason::kEnds && config.durable) {
    return Unavailable(
        fmt::format("server {} is shutting down; it goes on from here when it is "
                    "started again",
                    config.name.server));
  }
  return Refused(fmt::format(
      "server {} is draining: it takes no new writes, and no new step of training begins",
      config.name.server));
}

AckLevel LaneState::LevelOf(const wire::Header& request) const {
  auto level = static_cast<AckLevel>(request.ack);
  const bool is_of_table = !wire::InfoOf(request.command).has(wire::kOfCollections);
  if (level == AckLevel::kDefault && is_of_table) {
    const auto table = tables.find(request.table);
    if (table != tables.end()) level = table->second->spec().ack;
  }
  if (level != AckLevel::kDefault) return level;
  return config.durable ? AckLevel::kLogged : AckLevel::kApplied;
}

Status LaneState::CheckLevel(AckLevel level) const {
  if (level > AckLevel::kReplicated && level != AckLevel::kDefault) {
    return Invalid(fmt::format("ack level {} does not exist", static_cast<int>(level)));
  }
  if (level == AckLevel::kReplicated) {
    return Refused("ack level 'replicated' is not offered by this server; use 'synced'");
  }
  if (level == AckLevel::kApplied || level == AckLevel::kDefault || config.durable) return {};
  return Refused(
      fmt::format("ack level '{}' needs a server with a data folder (server.data, --data); server "
                  "{} keeps everything in memory and offers 'applied'",
                  AckLevelName(level), config.name.server));
}

Result<Lsn> LaneState::Append(RecordKind kind, std::span<const std::span<const std::byte>> body) {
  if (!changing) changing.emplace();
  if (replayed != 0) return replayed;
  if (!config.durable) return Lsn{0};
  if (!log_failure.ok()) return log_failure;
  Result<Lsn> lsn = log->Append(kind, body);
  NoteRoom(lsn.status());
  if (lsn.ok()) {
    LookForRoom();
    log_failure = AtApply();
    if (!log_failure.ok()) return log_failure;
  } else if (lsn.status().code() != StatusCode::kDiskFull) {
    log_failure = lsn.status();
  }
  return lsn;
}

Status LaneState::WriteLog() {
  if (log == nullptr) return {};
  STRATA_TRY(log_failure);
  log_failure = log->Write();
  return log_failure;
}

Status LaneState::SyncLog() {
  STRATA_TRY(WriteLog());
  if (log != nullptr) log_failure = log->Sync();
  return log_failure;
}

void LaneState::NoteRoom(const Status& write) {
  if (write.code() == StatusCode::kDiskFull) no_room = write;
}

void LaneState::LookForRoom() {
  if (no_room.ok()) return;
  no_room = log == nullptr ? Status() : log->LookForRoom();
  for (const auto& [id, table] : tables) {
    if (no_room.ok()) no_room = table->LookForRoom();
  }
  if (no_room.ok() || no_room.code() == StatusCode::kDiskFull) return;
  log_failure = std::exchange(no_room, Status());
}

void LaneState::NotePast(const LocalTable& table) {
  const std::array<TierUse, kTiers> tiers = table.Tiers();
  for (size_t i = 0; i < kTiers; ++i) {
    past.tiers[i] +=
        {.hits = tiers[i].hits, .rows_in = tiers[i].rows_in, .bytes_in = tiers[i].bytes_in};
  }
  const TableStats stats = table.Stats();
  past.rejected += stats.rejected;
  past.not_admitted += stats.not_admitted;
  if (stats.passed_down != 0) past.passed_down[table.spec().name] += stats.passed_down;
}

void LaneState::KeepTablesToShares() const {
  for (const auto& [id, table] : tables) table->KeepToShare();
}

Result<Lsn> LaneState::AppendWrite(const Request& request) {
  if (!changing) changing.emplace();
  if (!config.durable || replayed != 0) return replayed;
  RecordBody body;
  body.AddWrite(request.header, request.payload);
  return Append(RecordKind::kWrites, body.pieces());
}

wire::Header LaneState::WithState(wire::Header header) {
  header.cut = checkpoint.cut;
  header.boot_nonce = config.boot.nonce;
  header.credit = credits.Grant({header.client_hi, header.client_lo});
  return header;
}

void LaneState::ReplyToWrite(const ReplyTo& to, const Status& status, Lsn lsn,
                             const WriteAnswer* answer) {
  const AckLevel level = log == nullptr ? AckLevel::kApplied : LevelOf(to.request);
  const bool logged = level == AckLevel::kLogged && lsn > log->written();
  const bool synced = level == AckLevel::kSynced && lsn > log->synced();
  if (!status.ok()) metrics.ErrorsOf(status.code()).Add();
  const wire::Header request = WithState(to.request);
  Envelope reply{to.peer, {}};
  if (answer == nullptr) {
    reply.message = wire::MakeReply(request, incarnation(), ForSender(status), {});
  } else {
    wire::Header header = wire::ReplyHeader(request, incarnation());
    header.count = answer->count;
    header.width = answer->width;
    reply.message = wire::Seal(header, {answer->frame});
  }
  if (!logged && !synced) {
    out->push_back(std::move(reply));
  } else {
    (logged ? waiting_for_write : waiting_for_sync).push_back({lsn, std::move(reply)});
  }
}

void LaneState::Reply(const ReplyTo& to, const Status& status, Message payload) {
  if (!status.ok()) metrics.ErrorsOf(status.code()).Add();
  out->push_back({to.peer, wire::MakeReply(WithState(to.request), incarnation(), ForSender(status),
                                           std::move(payload))});
}

void LaneState::ReplyUnread(const ReplyTo& to, const Status& status) {
  metrics.ErrorsOf(status.code()).Add();
  out->push_back({to.peer, wire::MakeReply(WithState(to.request), incarnation(), status, {})});
}

void LaneState::ReplyWith(const std::string& peer, wire::Header header, Message payload) {
  out->push_back({peer, wire::Seal(WithState(header), std::move(payload))});
}

void LaneState::RunOff(const std::function<void(std::function<void()>)>& runner,
                       std::function<Finished::Then()> work) {
  auto all = [work = std::move(work), finished = checkpoint.finished] { finished->Add(work()); };
  if (!runner) return all();
  runner(std::move(all));
}

}  // namespace strata
