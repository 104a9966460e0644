// One machine of the simulation that serves Strata: a disk, and on it one process after the other,
// each the very Lane of the daemon over the very log. It dies where it is told to, or where its
// disk fails it, and keeps what a process or a machine would keep.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/random.h"
#include "ps/service/lane.h"
#include "storage/log/log.h"
#include "tests/support/sim_disk.h"
#include "tests/support/sim_network.h"

namespace strata::sim {

constexpr uint64_t kClusterId = 77;
constexpr int kMainPort = 7000;

std::string MainEndpoint(uint16_t server);
// Adds a message to the hash of all that happened.
void MixIn(uint64_t& history, const Envelope& envelope, TimeNs now);

// Where a test plants a bug.
struct Bugs {
  // Takes the place of the log that a lane writes.
  std::function<std::unique_ptr<WriteAheadLog>(std::unique_ptr<WriteAheadLog>)> wrap_log;
  // What a lane is given back instead of the record; nothing: it is left out.
  std::function<std::optional<LogRecord>(const LogRecord&)> replayed;
  // Takes the place of the folder of checkpoints, which it is given.
  std::function<std::unique_ptr<Disk>(Disk&)> wrap_checkpoints;
};

struct SimServerOptions {
  uint64_t seed = 1;
  bool durable = false;  // with a log on the machine's disk
  // Arrived messages wait so long for the lane's next round, at most.
  TimeNs round_max = 0;
  TimeNs recovery_max = 200 * kMillisecond;  // what replaying takes, at most
  bool ports_move = false;                   // each process has other ports for its lanes
  Disk* checkpoints = nullptr;               // the folder that all servers share
  uint32_t keep = 3;                         // checkpoints
  DedupLimits dedup;
  Bugs bugs;
};

class SimServer {
 public:
  SimServer(SimNetwork& network, const SimClock& clock, uint16_t index,
            std::shared_ptr<const wire::ShardMap> map, const SimServerOptions& options);
  ~SimServer();

  // A process begins; nothing when one runs.
  void Start(TimeNs now);
  // The process dies. Memory is gone; files stay as they are.
  void Kill();
  // The machine, too: files lose what was not synced. Returns since when that may be.
  TimeNs LosePower();
  // Without a log: the next process has nothing, and another lineage.
  void Restart(TimeNs now);
  // The process dies after so many more steps: a message handled, a file changed, a reply sent.
  void KillAfter(uint64_t steps) { fuse_ = steps; }

  // Reads of the next replay come with a bit flipped, each with this probability.
  void FlipNextReplay(double probability) { read_flip_ = probability; }

  bool running() const { return process_ != nullptr; }
  bool serving() const;
  bool unnoticed_flip() const { return unnoticed_flip_; }
  // Why the last process ended by itself.
  const Status& last_error() const { return last_error_; }
  uint64_t processes() const { return boot_; }
  // The checkpoints that its lanes' logs begin after, as their files say.
  std::vector<uint32_t> Bases();
  SimDisk& disk() { return disk_; }

  // Does what is due; mixes every message into `history`.
  void Poll(TimeNs now, uint64_t& history);
  TimeNs NextTick() const;

 private:
  struct LaneRun;
  struct Process;
  using Outgoing = std::vector<std::pair<MessagePort*, Envelope>>;

  void Open(TimeNs now);
  LaneConfig ConfigOf(uint16_t lane, const wire::HelloReply& hello);
  // What earlier processes left is on stable storage: before anything new, but on a full disk.
  bool FoundIsSynced() const;
  LogOptions OptionsOf(uint16_t lane);
  void Receive(LaneRun& run, TimeNs now, uint64_t& history);
  // False: the process has to die.
  bool Advance(LaneRun& run, TimeNs now);
  Status Recover(LaneRun& run, TimeNs now);
  Status RecoverWithBugs(LaneRun& run, const LogOptions& log, TimeNs now);
  Status ReplayWithFlips(const LogOptions& log);
  bool Work(LaneRun& run, TimeNs now);
  bool Finish(LaneRun& run, Outgoing out, TimeNs now);
  bool Step();
  bool Fail(const Status& status);

  SimNetwork& network_;
  const SimClock& clock_;
  const uint16_t index_;
  const std::shared_ptr<const wire::ShardMap> map_;
  const SimServerOptions options_;
  Random random_;
  SimDisk disk_;
  uint64_t lineage_;
  uint16_t boot_ = 0;
  uint64_t power_ups_ = 1;
  uint64_t fuse_ = 0;
  bool lanes_made_ = false;
  bool dead_ = false;  // it has died, and is there until the end of its step: it changes nothing
  double read_flip_ = 0;
  bool unnoticed_flip_ = false;
  Status last_error_;
  TimeNs now_ = 0;
  TimeNs unsynced_since_ = kNever;  // of the processes before this one
  std::unique_ptr<Process> process_;
};

}  // namespace strata::sim
