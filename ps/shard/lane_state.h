// LaneState is what the commands in ps/commands work on: a lane's place in the cluster, its tables,
// its memory of writes, and the requests that wait for a step.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/message_port.h"
#include "base/out_of_memory.h"
#include "proto/wire/commands.h"
#include "proto/wire/header.h"
#include "proto/wire/shard_map.h"
#include "ps/shard/boot_identity.h"
#include "ps/shard/credits.h"
#include "ps/shard/dedup_window.h"
#include "ps/shard/lane_checkpoint.h"
#include "ps/shard/lane_collections.h"
#include "ps/shard/lane_metrics.h"
#include "ps/shard/lane_record.h"
#include "ps/shard/search_queue.h"
#include "ps/shard/step_barrier.h"
#include "storage/log/log.h"
#include "storage/memory/local_table.h"
#include "strata/status.h"

namespace strata {

// A request whose header is believed and which is meant for this cluster and this server's life.
struct Request {
  std::string peer;
  wire::Header header;
  Message payload;
  TimeNs now = 0;
  TimeNs deadline = kNever;
  // Of a PUSH_PULL: the keys to look up once the push is applied. Header and payload are the
  // push's.
  std::optional<std::vector<Key>> then = std::nullopt;
  // Of an ERASE that was applied and asks for it (kFlagFull): rows that went.
  std::optional<uint64_t> erased = std::nullopt;

  ClientId client() const { return {header.client_hi, header.client_lo}; }
  ReplyTo reply_to() const {
    ReplyTo to{peer, header};
    if (then) to.request.command = wire::Command::kPushPull;
    return to;
  }
};

// What stays the same over the processes that serve one state (docs/decisions/0006).
inline uint64_t LineageOf(uint64_t incarnation) { return incarnation >> 16; }
inline uint16_t BootOf(uint64_t incarnation) { return static_cast<uint16_t>(incarnation); }

struct LaneConfig {
  wire::LaneName name;
  std::shared_ptr<const wire::ShardMap> map;
  uint64_t cluster_id = 0;
  std::string cluster_name = {};  // whose hash that is, for messages; "": not known
  wire::HelloReply hello;         // what HELLO answers; the incarnation in it is the server's
  BootIdentity boot;
  // Held by requests that wait for a step; half of it is what clients are granted (Credits).
  size_t queue_bytes_max = size_t{256} << 20;
  DedupLimits dedup;
  // The lane has a log: it begins recovering, is given back what the log holds, and then the log
  // (Lane::Replay, Lane::Serve). Without, its state ends with it.
  bool durable = false;
  // Makes an empty table of a valid spec. Any thread.
  MakeTable make_table;
  std::optional<CheckpointConfig> checkpoints;   // nothing: none are kept
  std::optional<CollectionsConfig> collections;  // likewise
  // Runs work off the lane's thread, one after the other. Null: at once. Lane::NextTick says when
  // there is something to finish.
  std::function<void(std::function<void()>)> background;
  // Told, on the lane's thread, what an operator wants to read: when a checkpoint was begun and
  // done. Null: nobody.
  std::function<void(LogLevel, const std::string&)> say;
  // Sends a message, on the lane's thread. False: the peer's connection has ended. Null: that is
  // not known of anybody.
  std::function<bool(Envelope)> reaches;
  // Takes CONTROL requests, whose replies come from elsewhere. Null: they are refused.
  std::function<void(Request)> on_control;
};

// What the reply to a write brings: rows, or to an ERASE how many went.
struct WriteAnswer {
  uint32_t count = 0;  // of the header
  uint32_t width = 0;
  Frame frame;
};

// What tables have counted that are gone, dropped or replaced, since the process began: counters at
// /metrics never fall.
struct PastCounts {
  std::array<TierUse, kTiers> tiers = {};  // hits, rows_in, bytes_in
  uint64_t rejected = 0;                   // as TableStats, like those that follow
  uint64_t not_admitted = 0;
  std::map<std::string, uint64_t> passed_down;  // by table, of those that ever had one
};

// How far a lane is that gets its state back.
struct Recovery {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  std::string Text() const;  // "recovering", "recovering: 37 %, 1.2 GiB of 3.3 GiB of its log"
};

// Why a lane takes no new writes.
enum class DrainReason : uint8_t {
  kAsked,  // an operator wants the server idle
  kEnds,   // the process ends; with a log another one goes on, and clients wait for it
  kLost,   // what is logged would not be found again: for good, and for steps that have begun, too
};

// A client that has a place among those whose writes the lane remembers.
struct LaneClient {
  ClientId id;
  bool is_connected = false;  // as far as known
  TimeNs idle = 0;            // since its last message, or since the process began
  size_t pending = 0;         // writes that wait
  size_t unsettled = 0;       // ... or whose answer it may ask for again
  uint32_t credit = 0;        // bytes that it was granted; 0: nothing lately
};

// Not thread-safe.
struct LaneState {
  LaneState(LaneConfig config_in, LaneMetrics& metrics_in);

  const LaneConfig config;
  const uint16_t index;  // of this lane in the shard map
  LaneMetrics& metrics;
  Tables tables;
  PastCounts past;
  DedupWindow dedup;
  TimeNs next_place_search = 0;  // for places of clients that are gone, not before
  StepBarrier barrier;
  Credits credits;
  TimeNs serves_since = 0;               // the first message; 0: none has come
  std::map<uint32_t, TimeNs> last_push;  // since then, by table
  std::optional<DrainReason> draining;
  std::unique_ptr<WriteAheadLog> log;  // null: memory only, or recovering
  std::optional<Recovery> recovery;    // while it lasts
  Lsn replayed = 0;                    // while a record is applied again: its LSN
  Status log_failure;                  // final: nothing may be promised any more
  // From the record of a change on until the message, round or tick is done: the change is made
  // whole, whatever memory there is.
  std::optional<MustAllocate> changing;
  // kDiskFull while the log has none, or a table's cold tier: writes are refused.
  Status no_room;
  CheckpointState checkpoint;
  LaneCollections collections;
  // Changes of collections whose merges lag behind, as they came (HandleWaitingChanges).
  std::vector<Request> waiting_changes;
  size_t waiting_change_bytes = 0;
  SearchQueue searches;
  std::vector<Envelope>* out = nullptr;  // where replies go while a message or a tick is handled

  // Pulls of a table that prefers large batches: one lookup for all of them is made once something
  // else comes or the round ends (AnswerGathered).
  struct GatheredPulls {
    struct Pull {
      ReplyTo to;
      size_t keys = 0;
    };
    LocalTable* table = nullptr;
    std::vector<Key> keys;  // of all of them
    std::vector<Pull> pulls;
  };
  GatheredPulls gathered_pulls;
  // Pushes of such a table, likewise (ApplyGathered). They are pending in their clients' windows.
  struct GatheredPushes {
    LocalTable* table = nullptr;
    size_t keys = 0;  // of all of them
    std::vector<ParkedPush> pushes;
  };
  GatheredPushes gathered_pushes;

  // Replies to writes that wait for the log, by what they wait for; LSNs rise but for repeats.
  struct Waiting {
    Lsn lsn = 0;
    Envelope reply;
  };
  std::deque<Waiting> waiting_for_write;
  std::deque<Waiting> waiting_for_sync;

  uint64_t incarnation() const { return config.hello.incarnation; }
  // To be called with a table that goes.
  void NotePast(const LocalTable& table);
  // Hands the outcome on; one of kRefused counts under that reason.
  Status Count(Refusal reason, Status outcome) const;
  // The table that the header names. kNotFound: there is none, or the one with its id has another
  // name.
  Result<LocalTable*> FindTable(const wire::Header& header) const;
  // Likewise of a collection.
  Result<std::shared_ptr<Collection>> FindCollection(const wire::Header& header) const;
  // kRefused names a key's shard, its owner and the epoch when a key is not this lane's.
  Status CheckOwned(std::span<const Key> keys) const;
  // kRefused once what the lane logs would not be found again.
  Status CheckNotLost() const;
  // kRefused while the lane drains, or kUnavailable when its state will be back.
  Status CheckNotDraining() const;

  // What must be true before a write is acknowledged: the request's level, else its table's, else
  // logged with a log and applied without.
  AckLevel LevelOf(const wire::Header& request) const;
  // kInvalid for a level that does not exist, kRefused for one that this lane does not offer.
  Status CheckLevel(AckLevel level) const;

  // Appends what is about to happen, after all that can be refused has been. Its LSN, or 0 without
  // a log; while records are applied again, the LSN of the one that is. An error (kDiskFull, or a
  // log that has failed, which Commit will tell): it must not happen.
  Result<Lsn> Append(RecordKind kind, std::span<const std::span<const std::byte>> body);
  Result<Lsn> AppendWrite(const Request& request);
  // Sets no_room when that is how a write ended.
  void NoteRoom(const Status& write);
  // Forgets no_room once there is room again.
  void LookForRoom();
  // To be called when a table has been made, and now and then.
  void KeepTablesToShares() const;
  // Writes and syncs all that was appended, on the calling thread. Nothing to do without a log. An
  // error is final.
  Status SyncLog();
  // Everything appended to the log and to those of collections survives the process.
  Status WriteLog();

  void Say(LogLevel level, const std::string& line) const {
    if (config.say) config.say(level, line);
  }
  // Runs `work` by `runner`, at once if that is null, then on the lane's thread what it returns.
  void RunOff(const std::function<void(std::function<void()>)>& runner,
              std::function<Finished::Then()> work);
  void InBackground(std::function<Finished::Then()> work) {
    RunOff(config.background, std::move(work));
  }

  // kCorrupt becomes kFailed: only ReplyUnread says that a message came damaged.
  void Reply(const ReplyTo& to, const Status& status, Message payload = {});
  // To a message that could not be read.
  void ReplyUnread(const ReplyTo& to, const Status& status);
  // The outcome of a write, once the record that says so is where its ack level wants it.
  void ReplyToWrite(const ReplyTo& to, const Status& status, Lsn lsn,
                    const WriteAnswer* answer = nullptr);
  // A reply whose header fields are the caller's (wire::ReplyHeader is where they begin).
  void ReplyWith(const std::string& peer, wire::Header header, Message payload);

 private:
  // What the lane says of itself in every reply: its cut, and the client's credit.
  wire::Header WithState(wire::Header header);
};

}  // namespace strata
