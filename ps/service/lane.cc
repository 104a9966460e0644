#include "ps/service/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "base/out_of_memory.h"
#include "proto/wire/command_table.h"
#include "ps/commands/checkpoints.h"
#include "ps/commands/collections.h"
#include "ps/commands/dispatch.h"
#include "ps/commands/replay.h"
#include "ps/commands/rows.h"
#include "ps/commands/sessions.h"

namespace strata {
namespace {

// For a request that states no deadline: parked requests always end.
constexpr TimeNs kParkedMax = 600 * kSecond;
constexpr TimeNs kHousekeepingEvery = 60 * kSecond;
constexpr TimeNs kTiersEvery = kSecond;  // a GPU has to be asked

// An incarnation is a lineage of 48 bits and a boot of 16 (docs/decisions/0006).
Status WriteOut(WriteAheadLog& log) {
  STRATA_TRY(log.Write());
  STRATA_FAILPOINT("lane.ack");
  return {};
}

}  // namespace

Lane::Lane(LaneConfig config, LaneMetrics& metrics) : state_(std::move(config), metrics) {}

std::optional<wire::Command> Lane::Handle(Envelope in, TimeNs arrived, TimeNs now,
                                          std::vector<Envelope>* out) {
  state_.out = out;
  now_ = now;
  state_.metrics.received_bytes.Add(MessageBytes(in.message));
  std::optional<wire::Command> command;
  try {
    command = Open(std::move(in), arrived, now);
  } catch (const std::bad_alloc&) {  // before it was known what it asks: its client asks again
    state_.metrics.malformed.Add();
    if (state_.changing) state_.log_failure = HalfDone();
  }
  Housekeep(now);
  EndRound();
  return command;
}

void Lane::AnswerWhileBusy(Envelope in, TimeNs arrived, TimeNs now, std::vector<Envelope>* out) {
  std::vector<Envelope>* const outer = std::exchange(state_.out, out);
  state_.metrics.received_bytes.Add(MessageBytes(in.message));
  try {
    std::optional<Request> request = Read(std::move(in), arrived, now);
    if (request) Dispatch(state_, std::move(*request));
  } catch (const std::bad_alloc&) {  // its client asks again
    state_.metrics.malformed.Add();
  }
  state_.out = outer;
}

void Lane::Refuse(const Envelope& in, const Status& reason, TimeNs now,
                  std::vector<Envelope>* out) {
  const Frame first = in.message.empty() ? Frame() : in.message.front();
  const Result<wire::Header> header = wire::DecodeHeader(first.bytes());
  if (!header.ok() || header->is(wire::kFlagReply)) return state_.metrics.malformed.Add();
  state_.metrics.received_bytes.Add(MessageBytes(in.message));
  state_.metrics.RequestsOf(header->command).Add();
  state_.credits.Hear({header->client_hi, header->client_lo}, now);
  std::vector<Envelope>* const outer = std::exchange(state_.out, out);
  state_.Reply({in.peer, *header}, state_.Count(Refusal::kCredit, reason));
  state_.out = outer;
}

// The request, if it is let in; else it is answered, or dropped.
std::optional<Request> Lane::Read(Envelope in, TimeNs arrived, TimeNs now) {
  // Kept for the reply to a message whose header makes sense and whose payload does not.
  const Frame first = in.message.empty() ? Frame() : in.message.front();
  Result<wire::Received> received = wire::Open(std::move(in.message), in.is_checked);
  if (!received.ok()) {
    state_.metrics.malformed.Add();
    const wire::Header header = wire::PeekHeader(first.bytes()).value_or(wire::Header{});
    if (!header.is(wire::kFlagReply)) state_.ReplyUnread({in.peer, header}, received.status());
    return std::nullopt;
  }
  if (received->header.is(wire::kFlagReply)) {
    state_.metrics.malformed.Add();  // answering it could go on for ever
    return std::nullopt;
  }
  Request request{.peer = std::move(in.peer),
                  .header = received->header,
                  .payload = std::move(received->payload),
                  .now = now};
  const uint32_t timeout_ms = request.header.timeout_ms;
  request.deadline =
      arrived + std::min(kParkedMax, timeout_ms == 0 ? kParkedMax : timeout_ms * kMillisecond);
  state_.metrics.RequestsOf(request.header.command).Add();
  if (state_.serves_since == 0) state_.serves_since = now;
  state_.credits.Hear(request.client(), now);
  state_.dedup.Hear(request.client(), request.peer, now);
  if (const Status status = Admit(request); !status.ok()) {
    state_.Reply(request.reply_to(), status);
    return std::nullopt;
  }
  return request;
}

std::optional<wire::Command> Lane::Open(Envelope in, TimeNs arrived, TimeNs now) {
  std::optional<Request> read = Read(std::move(in), arrived, now);
  if (!read) return std::nullopt;
  Request& request = *read;
  const wire::Command command = request.header.command;
  if (command != wire::Command::kPull) AnswerGathered(state_);
  if (command != wire::Command::kPush || request.header.cut > state_.checkpoint.cut) {
    ApplyGathered(state_);
  }
  if (const Status cut = TakeCut(request); !cut.ok()) {
    state_.Reply(request.reply_to(), cut);
    return std::nullopt;
  }
  ForRequest(state_, request.reply_to(), [&] { Dispatch(state_, std::move(request)); });
  return command;
}

Status Lane::Admit(const Request& request) {
  const wire::Header& header = request.header;
  if (header.cluster_id != state_.config.cluster_id) {
    return state_.Count(
        Refusal::kCluster,
        Refused(fmt::format(
            "this server belongs to cluster {}{:016x}, the request to {:016x}; "
            "check cluster.name in cluster.toml on both sides, and give strata-admin "
            "the file: --config=FILE",
            state_.config.cluster_name.empty() ? ""
                                               : fmt::format("'{}', ", state_.config.cluster_name),
            state_.config.cluster_id, header.cluster_id)));
  }
  STRATA_TRY(CheckLife(header));
  STRATA_TRY(CheckServing(header.command));
  if (request.deadline <= request.now) {
    state_.metrics.expired.Add();
    return DeadlineExceeded(
        fmt::format("the request waited longer than its {} ms before server {} lane {} came to it; "
                    "nothing of it was done",
                    header.timeout_ms, state_.config.name.server, state_.config.name.lane));
  }
  if (wire::InfoOf(header.command).has(wire::kRouted) && header.epoch != state_.config.map->epoch) {
    return state_.Count(
        Refusal::kMap,
        Refused(fmt::format("the request was routed by the shard map of epoch {}, server {} lane "
                            "{} has epoch {}: fetch the map again",
                            header.epoch, state_.config.name.server, state_.config.name.lane,
                            state_.config.map->epoch)));
  }
  return {};
}

// That the state which the client knows is the one that is served here.
Status Lane::CheckLife(const wire::Header& request) const {
  const uint64_t ours = state_.incarnation();
  if (request.incarnation == 0) return {};
  if (LineageOf(request.incarnation) != LineageOf(ours)) {
    return Lost(
        fmt::format("server {} has restarted without its state: this is incarnation {:016x}, the "
                    "request is for {:016x}; what that one held is not here",
                    state_.config.name.server, ours, request.incarnation));
  }
  if (request.boot_nonce == 0) return {};
  const BootIdentity& boot = state_.config.boot;
  const uint16_t asked = BootOf(request.incarnation);
  const auto past = boot.past.find(asked);
  const uint32_t nonce = asked == BootOf(ours)     ? boot.nonce
                         : past != boot.past.end() ? past->second
                                                   : request.boot_nonce;
  if (nonce == request.boot_nonce) return {};
  return Lost(fmt::format(
      "server {} serves another copy of its data folder: boot {} of it has the nonce {:#010x} "
      "here, and the client knows {:#010x}; writes that were acknowledged since the copy was made "
      "are not here",
      state_.config.name.server, asked, nonce, request.boot_nonce));
}

// Who knows of a cut has seen what lies behind it: it must not touch what lies before.
Status Lane::TakeCut(const Request& request) {
  if (request.header.cut <= state_.checkpoint.cut || recovering()) return {};
  STRATA_TRY(CheckNewCut(state_, request.header.cut, request.now));
  const MustAllocate must;
  return CutLane(state_, request.header.cut, request.now);
}

// Administration goes on: it shows the progress, and may end the server.
Status Lane::CheckServing(wire::Command command) const {
  if (command == wire::Command::kControl) return {};
  // Tables are not used while they are replaced. A repeat of the RESTORE joins it; BeginRestore
  // refuses another one.
  const bool uses_tables =
      !wire::InfoOf(command).has(wire::kAnsweredWhileBusy) && command != wire::Command::kRestore;
  if (state_.checkpoint.restoring != nullptr && uses_tables) return LoadsCheckpoint(state_);
  if (!recovering()) return {};
  return Unavailable(fmt::format("server {} lane {} is {}", state_.config.name.server,
                                 state_.config.name.lane, state_.recovery->Text()));
}

Status Lane::Replay(const LogRecord& record, TimeNs now) {
  STRATA_CHECK(recovering());
  return ReplayRecord(state_, record, now);
}

Status Lane::LoadBase(LoadedLane loaded, uint64_t cut_lsn, TimeNs now) {
  STRATA_CHECK(recovering());
  const uint32_t number = loaded.manifest.number;
  const std::string where =
      fmt::format("the image of lane {} in checkpoint {}", state_.config.name.lane, number);
  STRATA_ASSIGN(const format::LaneImage image,
                format::DecodeLaneImage(std::as_bytes(std::span(loaded.image)), where));
  state_.dedup.LoadFrom(image, now);
  state_.barrier.LoadFrom(image, now);
  const uint32_t cut = wire::CutOrNone(number);
  state_.checkpoint.cut = state_.checkpoint.increment_base = state_.checkpoint.log_base = cut;
  state_.checkpoint.cut_records[cut] = cut_lsn;
  state_.tables = std::move(loaded.tables);
  state_.KeepTablesToShares();
  return {};
}

void Lane::LoadCollections(const std::vector<std::shared_ptr<Collection>>& collections) {
  STRATA_CHECK(recovering());
  for (const auto& collection : collections) state_.collections.Put(collection);
}

void Lane::Serve(std::unique_ptr<WriteAheadLog> log) {
  STRATA_CHECK(recovering() && log != nullptr);
  state_.log = JoinLogs(std::move(log), state_.collections.logs);
  state_.collections.noted.clear();
  state_.no_room = state_.log->LookForRoom();
  state_.checkpoint.recovered_cut = state_.checkpoint.cut;
  state_.recovery.reset();
  MarkNeededCheckpoints(state_);
}

Status Lane::Commit(std::vector<Envelope>* out) {
  const MustAllocate must;
  state_.out = out;
  FinishGathered(state_);
  BeginSearches(state_, now_);
  EndRound();
  if (state_.log == nullptr) return {};
  STRATA_TRY(state_.log_failure);
  WriteAheadLog& log = *state_.log;
  if (log.written() != log.appended()) state_.log_failure = WriteOut(log);
  STRATA_TRY(state_.log_failure);
  const auto release = [out](std::deque<LaneState::Waiting>& waiting, Lsn reached) {
    while (!waiting.empty() && waiting.front().lsn <= reached) {
      out->push_back(std::move(waiting.front().reply));
      waiting.pop_front();
    }
  };
  release(state_.waiting_for_write, log.written());
  release(state_.waiting_for_sync, log.synced());
  return {};
}

void Lane::Tick(TimeNs now, std::vector<Envelope>* out) {
  const MustAllocate must;
  state_.out = out;
  now_ = now;
  FinishGathered(state_);
  for (const Finished::Then& then : state_.checkpoint.finished->Take()) then(state_);
  SaveMoreIfDue();
  if (now >= next_look_at_merges_) {
    HandleWaitingChanges(state_, now);
    next_look_at_merges_ = now + kLookAtMerges;
  }
  const Saving* saving = state_.checkpoint.saving.get();
  if (saving != nullptr && saving->part == nullptr && now >= saving->deadline) {
    EndSaving(state_, Cancelled("nobody asked for the cut to be saved"));
  }
  if (now < std::min(state_.barrier.NextDeadline(), next_housekeeping_)) return EndRound();
  AnswerEnded(state_, state_.barrier.Expire(now));
  next_housekeeping_ = now + kHousekeepingEvery;
  Housekeep(now);
  EndRound();
}

void Lane::SaveMoreIfDue() {
  try {
    const MayFail may;
    if (CanSaveMore(state_)) SaveMore(state_);
  } catch (const std::bad_alloc&) {
    EndSaving(state_, OutOfMemory("a checkpoint"));
  }
}

void Lane::EndRound() {
  state_.changing.reset();
  state_.out = nullptr;
}

void Lane::Housekeep(TimeNs now) {
  if (next_housekeeping_ == 0) next_housekeeping_ = now + kHousekeepingEvery;
  state_.KeepTablesToShares();
  ShowGauges();
  if (now < next_tiers_) return;
  next_tiers_ = now + kTiersEvery;
  ShowTiers();
}

void Lane::ShowTiers() {
  std::array<TierUse, kTiers> tiers = state_.past.tiers;
  for (const auto& [id, table] : state_.tables) {
    const std::array<TierUse, kTiers> its = table->Tiers();
    for (size_t i = 0; i < kTiers; ++i) tiers[i] += its[i];
  }
  state_.metrics.ShowTiers(tiers);
}

size_t Lane::ParkedRequests() const {
  return state_.barrier.parked() + state_.waiting_changes.size();
}

size_t Lane::ParkedBytes() const {
  return state_.barrier.parked_bytes() + state_.waiting_change_bytes;
}

void Lane::ShowGauges() {
  state_.metrics.parked_requests.Set(ParkedRequests());
  state_.metrics.parked_bytes.Set(ParkedBytes());
  state_.metrics.clients.Set(state_.dedup.clients());
  if (state_.log == nullptr) return;
  state_.metrics.log_bytes.Set(state_.log->bytes_on_disk());
  state_.metrics.log_appended.Set(state_.log->appended());
  state_.metrics.log_synced.Set(state_.log->synced());
}

TimeNs Lane::NextTick() const {
  if (state_.checkpoint.finished->any() || CanSaveMore(state_)) return 0;
  const Saving* saving = state_.checkpoint.saving.get();
  TimeNs idle = state_.barrier.groups() == 0 ? kNever : next_housekeeping_;
  if (!state_.waiting_changes.empty()) idle = std::min(idle, next_look_at_merges_);
  if (saving != nullptr && saving->part == nullptr) idle = std::min(idle, saving->deadline);
  return std::min(idle, state_.barrier.NextDeadline());
}

void Lane::Drain(DrainReason reason, std::vector<Envelope>* out) {
  if (state_.draining == DrainReason::kLost) return;
  state_.draining = reason;
  state_.out = out;
  FinishGathered(state_);
  const Status why = state_.CheckNotDraining();
  if (reason == DrainReason::kLost) {
    EndSaving(state_, why);
    EndWaitingChanges(state_, why);
    AnswerEnded(state_, state_.barrier.EndAll(why));
  } else {
    AnswerEnded(state_, state_.barrier.EndUnbegun(why));
  }
  state_.out = nullptr;
}

bool Lane::Idle() const {
  return state_.gathered_pulls.pulls.empty() && state_.gathered_pushes.pushes.empty() &&
         state_.checkpoint.restoring == nullptr && state_.barrier.parked() == 0 &&
         state_.waiting_for_write.empty() && state_.waiting_for_sync.empty() &&
         state_.waiting_changes.empty() && state_.searches.IsIdle();
}

void Lane::EndAll(std::vector<Envelope>* out) {
  state_.out = out;
  FinishGathered(state_);
  EndSaving(state_, Unavailable("the server is shutting down; take a new checkpoint"));
  const std::string reason = fmt::format(
      "server {} is shutting down; nothing of this request was applied: send it again when it is "
      "back",
      state_.config.name.server);
  const Status ended = state_.config.durable ? Unavailable(reason) : Lost(reason);
  EndRestoring(state_, ended);
  EndSearches(state_, ended);
  EndWaitingChanges(state_, ended);
  AnswerEnded(state_, state_.barrier.EndAll(ended));
  state_.out = nullptr;
}

std::vector<LaneClient> Lane::Clients(TimeNs now) { return ListClients(state_, now); }

Status Lane::Evict(const ClientId& client) { return EvictClient(state_, client); }

LaneReport Lane::Report() {
  LaneReport report;
  state_.LookForRoom();
  ShowGauges();  // whoever looks sees an idle lane as it is
  ShowTiers();
  report.no_room = state_.no_room;
  report.past = state_.past;
  for (const auto& [id, table] : state_.tables) {
    report.tables.push_back({table->spec(), table->Stats(), table->Tiers()});
  }
  std::ranges::sort(report.tables, {}, [](const auto& table) { return table.spec.name; });
  for (const auto& [id, collection] : state_.collections.of_id) {
    report.collections.push_back(
        {collection->definition().name, state_.collections.StatsOf(*collection)});
  }
  report.parked_requests = ParkedRequests();
  report.parked_bytes = ParkedBytes();
  report.clients = state_.dedup.clients();
  report.draining = draining();
  report.cut = state_.checkpoint.cut;
  report.log_base = state_.checkpoint.log_base;
  report.recovery = state_.recovery;
  report.durable = state_.config.durable;
  if (state_.log != nullptr) {
    report.log_bytes = state_.log->bytes_on_disk();
    report.log_appended = state_.log->appended();
    report.log_synced = state_.log->synced();
  }
  return report;
}

}  // namespace strata
