// Lane: the core of a server, one thread's share of its shards. Messages and a clock's ticks go in,
// messages come out; it knows no socket, no thread and no clock, so that a test can run fifty
// servers in one thread and replay them from a seed.
//
// With a log (LaneConfig::durable) its driver goes on like this:
//
//   ReplayLog(options, 1, [&](record) { return lane.Replay(record, now); });
//   lane.Serve(OpenLog(options, summary.last));
//   loop:
//     lane.Handle(...) for all that has arrived, lane.Tick(...)
//     lane.Commit(&out), an error ends the process; only then `out` is sent
//     lane.log()->Sync() now and then, by another thread or here; the next Commit sees it
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "ps/shard/lane_state.h"

namespace strata {

struct LaneReport {
  struct Table {
    TableSpec spec;
    TableStats stats;
    std::array<TierUse, kTiers> tiers;
  };
  struct OfCollection {
    std::string name;
    wire::CollectionStatsReply stats;
  };
  std::vector<Table> tables;  // sorted by name
  PastCounts past;            // of others, before
  std::vector<OfCollection> collections;
  size_t parked_requests = 0;
  size_t parked_bytes = 0;
  size_t clients = 0;
  bool draining = false;
  std::optional<Recovery> recovery;  // while it lasts
  bool durable = false;
  uint64_t log_bytes = 0;
  Lsn log_appended = 0;
  Lsn log_synced = 0;
  Status no_room;         // kDiskFull while writes are refused for want of room on disk
  uint32_t cut = 0;       // the newest of this lane
  uint32_t log_base = 0;  // the checkpoint that its log begins behind; 0: none
};

// Not thread-safe. Whatever bytes come in, the answer is a reply (an error's text says what is
// wrong), never more; only what claims to be a reply itself is dropped, and counted.
class Lane {
 public:
  // `metrics` outlives the lane. The lane must be in the config's shard map.
  Lane(LaneConfig config, LaneMetrics& metrics);

  // Handles one message, which came at `arrived` and whose deadline counts from then. Replies are
  // appended to `out`, for this request and for others that waited for it; they may leave once
  // Commit has returned OK. `now` never runs backwards. Returns the command of a request that was
  // let in, for statistics.
  std::optional<wire::Command> Handle(Envelope in, TimeNs arrived, TimeNs now,
                                      std::vector<Envelope>* out);
  std::optional<wire::Command> Handle(Envelope in, TimeNs now, std::vector<Envelope>* out) {
    return Handle(std::move(in), now, now, out);
  }

  // Answers a PING, HELLO or SHARD_MAP that knows of no cut above cut(). It may be called in the
  // middle of another member, from what that waits for (base/thread/while_waiting.h). The reply may
  // leave at once.
  void AnswerWhileBusy(Envelope in, TimeNs arrived, TimeNs now, std::vector<Envelope>* out);

  // Answers a request that is not handled, with the reason; one of kRefused counts as Refusal::
  // kCredit. It may be called in the middle of another member, too.
  void Refuse(const Envelope& in, const Status& reason, TimeNs now, std::vector<Envelope>* out);

  // Ends a round: answers pulls and applies pushes that were gathered, hands the kernel what the
  // log was given since the last call, and appends the replies that were waiting for the log and
  // need not any longer. An error is final: what is in `out` must not leave, and the process is to
  // end.
  Status Commit(std::vector<Envelope>* out);
  // Somebody waits until the log is synced.
  bool WaitsForSync() const { return !state_.waiting_for_sync.empty(); }
  // Null before Serve, and without a log. Its Sync and synced() may be called on another thread.
  WriteAheadLog* log() { return state_.log.get(); }

  // Recovery. Until Serve, requests are answered kUnavailable, with the progress. Replay applies a
  // record of the log again; an error names it and is final.
  Status Replay(const LogRecord& record, TimeNs now);
  // The checkpoint that the log begins behind, before any Replay.
  Status LoadBase(LoadedLane loaded, uint64_t cut_lsn, TimeNs now);
  // What Collection::OpenAll found, before any Replay.
  void LoadCollections(const std::vector<std::shared_ptr<Collection>>& collections);
  void NoteProgress(Recovery progress) { state_.recovery = progress; }
  // All that was logged is back: from now on requests are handled and writes go to `log`.
  void Serve(std::unique_ptr<WriteAheadLog> log);
  const LaneConfig& config() const { return state_.config; }
  uint16_t index() const { return state_.index; }  // in the shard map
  bool recovering() const { return state_.recovery.has_value(); }

  // To be called at NextTick() or later: requests whose deadline has passed are answered.
  void Tick(TimeNs now, std::vector<Envelope>* out);
  TimeNs NextTick() const;

  // From now on new writes are refused; a synchronous step that has begun may still be completed.
  // What waits for one that has not is refused at once.
  void Drain(DrainReason reason, std::vector<Envelope>* out);
  bool draining() const { return state_.draining.has_value(); }
  bool Idle() const;  // nothing waits
  // The server ends: answers all that waits for a step, a search or merges with kLost, or with
  // kUnavailable when it will come back with its state; nothing of it has been applied.
  void EndAll(std::vector<Envelope>* out);

  uint32_t cut() const { return state_.checkpoint.cut; }  // the newest
  // kDiskFull while there is no room on disk and writes are refused. Report looks again.
  const Status& no_room() const { return state_.no_room; }
  void NoteRoom(const Status& write) { state_.NoteRoom(write); }
  LaneReport Report();
  std::vector<LaneClient> Clients(TimeNs now);  // by id
  // The client loses its place: its writes are answered with kSessionExpired from now on. kNotFound
  // when it has none; kRefused while a write of it waits, or when no more names can be kept;
  // kDiskFull.
  Status Evict(const ClientId& client);

 private:
  std::optional<wire::Command> Open(Envelope in, TimeNs arrived, TimeNs now);
  std::optional<Request> Read(Envelope in, TimeNs arrived, TimeNs now);
  Status Admit(const Request& request);
  Status CheckLife(const wire::Header& request) const;
  Status TakeCut(const Request& request);
  Status CheckServing(wire::Command command) const;
  void Housekeep(TimeNs now);
  void SaveMoreIfDue();
  void EndRound();  // of a message, a tick or a commit
  size_t ParkedRequests() const;
  size_t ParkedBytes() const;
  void ShowGauges();
  void ShowTiers();

  LaneState state_;
  TimeNs now_ = 0;  // of the last message or tick
  TimeNs next_tiers_ = 0;
  TimeNs next_housekeeping_ = 0;
  TimeNs next_look_at_merges_ = 0;  // while changes wait for them
};

}  // namespace strata
