#include "tests/sim/sim_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/format/log_base.h"
#include "ps/service/lane_recovery.h"
#include "storage/memory/host_table.h"
#include "tests/sim/shared_folder.h"
#include "tests/sim/watched_disk.h"

namespace strata::sim {
namespace {

constexpr TimeNs kSyncWithinWhenWaitedFor = 10 * kMillisecond;
constexpr TimeNs kSyncWithin = 50 * kMillisecond;
constexpr TimeNs kUnsyncedMax = 60 * kMillisecond;
constexpr uint64_t kSegmentBytes = 32 << 10;  // small, so that logs have several

std::string LaneFolder(uint16_t lane) { return fmt::format("data/lane-{}", lane); }

std::string Endpoint(uint16_t server, int port) {
  return fmt::format("tcp://server{}:{}", server, port);
}

}  // namespace

std::string MainEndpoint(uint16_t server) { return Endpoint(server, kMainPort); }

void MixIn(uint64_t& history, const Envelope& envelope, TimeNs now) {
  history = Hash64(envelope.peer, history ^ static_cast<uint64_t>(now));
  for (const Frame& frame : envelope.message) history = Hash64(frame.bytes(), history);
}

struct SimServer::LaneRun {
  uint16_t number = 0;
  std::unique_ptr<LaneMetrics> metrics;
  std::unique_ptr<Lane> lane;
  std::vector<std::unique_ptr<MessagePort>> ports;  // its own, and of lane 0 the server's main one
  std::vector<std::pair<MessagePort*, Envelope>> arrived;
  TimeNs next_round = kNever;
  TimeNs next_sync = kNever;
  TimeNs recovered_at = kNever;

  TimeNs NextTick() const {
    return std::min({next_round, next_sync, recovered_at, lane->NextTick()});
  }
};

struct SimServer::Process {
  Process(Disk& below, DiskWatch watch) : disk(below, std::move(watch)) {}

  MetricsRegistry registry;
  WatchedDisk disk;
  std::vector<LaneRun> lanes;
};

SimServer::SimServer(SimNetwork& network, const SimClock& clock, uint16_t index,
                     std::shared_ptr<const wire::ShardMap> map, const SimServerOptions& options)
    : network_(network),
      clock_(clock),
      index_(index),
      map_(std::move(map)),
      options_(options),
      random_(options.seed * 64 + index),
      disk_({.seed = options.seed * 64 + index}),
      lineage_(1000 + index) {
  Start(0);
}

SimServer::~SimServer() = default;

void SimServer::Start(TimeNs now) {
  if (running()) return;
  now_ = now;
  ++boot_;
  process_ = std::make_unique<Process>(disk_, [this](auto, const auto&) -> Result<bool> {
    if (Step()) return true;
    return Failed("the process was killed");
  });
  if (options_.checkpoints != nullptr)
    process_->disk.Mount(kCheckpointsFolder, *options_.checkpoints);
  Open(now);
}

void SimServer::Kill() {
  if (running()) unsynced_since_ = std::min(unsynced_since_, now_ - kUnsyncedMax);
  dead_ = true;
  process_.reset();
  dead_ = false;
  fuse_ = 0;
}

TimeNs SimServer::LosePower() {
  Kill();
  ++power_ups_;
  disk_.Crash();
  return std::exchange(unsynced_since_, kNever);
}

void SimServer::Restart(TimeNs now) {
  Kill();
  lineage_ += 1000;
  boot_ = 0;
  Start(now);
}

void SimServer::Open(TimeNs now) {
  const int first_port = kMainPort + 1 + (options_.ports_move ? 10 * (boot_ % 3) : 0);
  wire::HelloReply hello;
  hello.server = index_;
  hello.servers = static_cast<uint16_t>(map_->lanes.back().server + 1);
  hello.incarnation = (lineage_ << 16) + boot_;
  for (const wire::LaneName& lane : map_->lanes) {
    if (lane.server != index_) continue;
    hello.lane_ports.push_back(static_cast<uint16_t>(first_port + lane.lane));
  }
  const auto lanes = static_cast<uint16_t>(hello.lane_ports.size());
  for (uint16_t number = 0; number < lanes; ++number) {
    LaneRun run;
    run.number = number;
    run.metrics = std::make_unique<LaneMetrics>(process_->registry, number);
    run.lane = std::make_unique<Lane>(ConfigOf(number, hello), *run.metrics);
    run.ports.push_back(network_.OpenPort(Endpoint(index_, hello.lane_ports[number])));
    if (number == 0) run.ports.push_back(network_.OpenPort(MainEndpoint(index_)));
    if (options_.durable) {
      const auto most = static_cast<uint64_t>(options_.recovery_max);
      run.recovered_at = now + static_cast<TimeNs>(random_.Below(most + 1));
    }
    process_->lanes.push_back(std::move(run));
  }
}

LaneConfig SimServer::ConfigOf(uint16_t lane, const wire::HelloReply& hello) {
  LaneConfig config;
  config.name = {index_, lane};
  config.map = map_;
  config.cluster_id = kClusterId;
  config.hello = hello;
  config.durable = options_.durable;
  config.dedup = options_.dedup;
  if (options_.checkpoints != nullptr) {
    std::shared_ptr<ReplaceableFile> base;
    if (options_.durable) {
      base = std::make_shared<ReplaceableFile>(process_->disk, LaneFolder(lane) + "/base");
    }
    config.checkpoints = CheckpointConfig{.disk = &process_->disk,
                                          .root = kCheckpointsFolder,
                                          .base = std::move(base),
                                          .keep = options_.keep,
                                          .clock = &clock_};
  }
  config.make_table = [](const TableSpec& spec) { return std::make_unique<HostTable>(spec); };
  return config;
}

bool SimServer::serving() const {
  return running() && std::ranges::none_of(process_->lanes, [](const LaneRun& run) {
           return run.lane->recovering();
         });
}

bool SimServer::FoundIsSynced() const {
  return serving() && std::ranges::all_of(process_->lanes, [](const LaneRun& run) {
           const WriteAheadLog* log = run.lane->log();
           return log == nullptr || log->synced() > 0 || log->appended() == 0;
         });
}

std::vector<uint32_t> SimServer::Bases() {
  std::vector<uint32_t> bases;
  for (uint16_t lane = 0;; ++lane) {
    const std::string folder = LaneFolder(lane);
    if (!disk_.List(folder).ok()) return bases;
    const std::string path = folder + "/base";
    const Result<std::string> bytes = ReadFile(disk_, path, format::kLogBaseBytesMax);
    if (!bytes.ok()) continue;
    const Result<format::LogBase> base = format::DecodeLogBase(*bytes, path);
    if (base.ok()) bases.push_back(base->checkpoint);
  }
}

LogOptions SimServer::OptionsOf(uint16_t lane) {
  LogOptions log;
  log.disk = &process_->disk;
  log.folder = LaneFolder(lane);
  log.lineage = lineage_;
  log.lane = lane;
  log.boot_id = fmt::format("power-up {}", power_ups_);
  log.segment_bytes = kSegmentBytes;
  log.made = lanes_made_;
  return log;
}

Status SimServer::Recover(LaneRun& run, TimeNs now) {
  const LogOptions log = OptionsOf(run.number);
  STRATA_TRY(ReplayWithFlips(log));
  if (options_.bugs.wrap_log || options_.bugs.replayed) return RecoverWithBugs(run, log, now);
  return RecoverLane(*run.lane, log, clock_).status();
}

Status SimServer::RecoverWithBugs(LaneRun& run, const LogOptions& options, TimeNs now) {
  const auto visit = [&](const LogRecord& record) {
    if (!options_.bugs.replayed) return run.lane->Replay(record, now);
    const std::optional<LogRecord> other = options_.bugs.replayed(record);
    return other ? run.lane->Replay(*other, now) : Status();
  };
  STRATA_ASSIGN(const ReplaySummary summary, ReplayLog(options, 1, visit));
  STRATA_ASSIGN(std::unique_ptr<WriteAheadLog> log, OpenLog(options, summary.last));
  if (options_.bugs.wrap_log) log = options_.bugs.wrap_log(std::move(log));
  run.lane->Serve(std::move(log));
  return {};
}

// A replay that goes through must have seen what is there.
Status SimServer::ReplayWithFlips(const LogOptions& log) {
  const double probability = std::exchange(read_flip_, 0);
  if (probability == 0) return {};
  uint64_t seen = 0;
  const auto visit = [&](const LogRecord& record) {
    seen = Hash64(record.body, seen);
    return Status();
  };
  disk_.SetReadFlip(probability);
  const Result<ReplaySummary> flipped = ReplayLog(log, 1, visit);
  disk_.SetReadFlip(0);
  if (flipped.status().code() == StatusCode::kNotFound) return {};  // trimmed
  STRATA_TRY(flipped.status());
  if (flipped->torn)
    return {};  // after a loss of power, a flip may look like its trace: it is told
  const uint64_t seen_with_flips = std::exchange(seen, 0);
  STRATA_TRY(ReplayLog(log, 1, visit).status());
  if (seen != seen_with_flips) unnoticed_flip_ = true;
  return {};
}

void SimServer::Poll(TimeNs now, uint64_t& history) {
  if (!running()) return;
  now_ = now;
  for (LaneRun& run : process_->lanes) Receive(run, now, history);
  for (LaneRun& run : process_->lanes) {
    if (run.NextTick() > now || Advance(run, now)) continue;
    return Kill();
  }
}

void SimServer::Receive(LaneRun& run, TimeNs now, uint64_t& history) {
  for (const auto& port : run.ports) {
    while (std::optional<Envelope> envelope = port->Receive(now).value()) {
      MixIn(history, *envelope, now);
      run.arrived.emplace_back(port.get(), std::move(*envelope));
    }
  }
  if (run.arrived.empty() || run.next_round != kNever) return;
  const auto most = static_cast<uint64_t>(options_.round_max);
  run.next_round = now + static_cast<TimeNs>(random_.Below(most + 1));
}

bool SimServer::Advance(LaneRun& run, TimeNs now) {
  if (run.recovered_at <= now) {
    run.recovered_at = kNever;
    if (const Status status = Recover(run, now); !status.ok()) return Fail(status);
    if (serving()) lanes_made_ = true;
  }
  if (FoundIsSynced()) unsynced_since_ = kNever;
  if (run.next_round <= now) {
    run.next_round = kNever;
    if (!Work(run, now)) return false;
  }
  if (run.next_sync <= now) {
    run.next_sync = kNever;
    if (const Status status = run.lane->log()->Sync(); !status.ok()) return Fail(status);
    if (!Finish(run, {}, now)) return false;
  }
  if (run.lane->NextTick() > now) return true;
  std::vector<Envelope> replies;
  run.lane->Tick(now, &replies);
  Outgoing out;
  for (Envelope& reply : replies) out.emplace_back(run.ports[0].get(), std::move(reply));
  return Finish(run, std::move(out), now);
}

// All that has arrived, then the log, then the replies: a round as LaneThread does it.
bool SimServer::Work(LaneRun& run, TimeNs now) {
  Outgoing out;
  for (auto& [port, envelope] : std::exchange(run.arrived, {})) {
    std::vector<Envelope> replies;
    run.lane->Handle(std::move(envelope), now, &replies);
    for (Envelope& reply : replies) out.emplace_back(port, std::move(reply));
    if (!Step()) return false;
  }
  return Finish(run, std::move(out), now);
}

bool SimServer::Finish(LaneRun& run, Outgoing out, TimeNs now) {
  std::vector<Envelope> replies;
  if (const Status status = run.lane->Commit(&replies); !status.ok()) return Fail(status);
  for (Envelope& reply : replies) out.emplace_back(run.ports[0].get(), std::move(reply));
  if (!Step()) return false;
  for (auto& [port, reply] : out) {
    (void)port->Send(std::move(reply));
    if (!Step()) return false;
  }
  const WriteAheadLog* log = run.lane->log();
  if (log == nullptr || log->appended() == log->synced()) return true;
  const bool waited_for = run.lane->WaitsForSync();
  const auto most = static_cast<uint64_t>(waited_for ? kSyncWithinWhenWaitedFor : kSyncWithin);
  run.next_sync = std::min(run.next_sync, now + 1 + static_cast<TimeNs>(random_.Below(most)));
  return true;
}

bool SimServer::Step() {
  if (fuse_ > 0 && --fuse_ == 0) dead_ = true;
  return !dead_;
}

bool SimServer::Fail(const Status& status) {
  last_error_ = status;
  return false;
}

TimeNs SimServer::NextTick() const {
  TimeNs next = kNever;
  if (!running()) return next;
  for (const LaneRun& run : process_->lanes) next = std::min(next, run.NextTick());
  return next;
}

}  // namespace strata::sim
