#include "ps/service/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/file/open_files.h"
#include "base/http/http_server.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/thread/mutex.h"
#include "cluster/names/resolve.h"
#include "proto/format/log_base.h"
#include "ps/follow/follower.h"
#include "ps/net/address.h"
#include "ps/net/lane_port.h"
#include "ps/service/control_service.h"
#include "ps/service/data_folder.h"
#include "ps/service/folder_watch.h"
#include "ps/service/lane_thread.h"
#include "ps/service/search_means.h"
#include "ps/service/server_metrics.h"

namespace strata {
namespace {

constexpr TimeNs kScrapeTimeout = kSecond;

uint32_t ShardsOf(const wire::ShardMap& map, uint16_t server) {
  uint32_t shards = 0;
  for (const uint16_t lane : map.owner) shards += map.lanes[lane].server == server;
  return shards;
}

// What is to be said of the address: an error, a warning, or nothing.
Result<std::string> CheckReach(const ServerOptions& options) {
  STRATA_ASSIGN(const std::string numeric, NumericAddress(options.host));
  if (IsLoopback(numeric)) return std::string();
  const std::string address = HostPort(options.host, options.port);
  if (options.loopback_only) {
    return Refused(
        fmt::format("refusing to listen on {}: connections are not authenticated, so "
                    "other machines could read and change all tables; listen on "
                    "127.0.0.1, or give --insecure if the network is trusted",
                    address));
  }
  return fmt::format(
      "listening on {} without authentication (--insecure): whoever reaches the "
      "port can read and change all tables",
      address);
}

// Of one lane. All lanes together leave half of what the process may open to files.
size_t ConnectionsMax(uint16_t lanes) {
  constexpr uint64_t kLeast = 64;
  constexpr uint64_t kMost = 4096;
  return std::clamp<uint64_t>(OpenFilesLimit() / 2 / lanes, kLeast, kMost);
}

[[noreturn]] void EndProcess(const Status&) {
  FlushLog();
  std::_Exit(ExitCode(Internal("")));
}

}  // namespace

struct Server::Impl {
  ServerOptions options;
  std::unique_ptr<DataFolder> data;    // null: memory only
  std::unique_ptr<FolderWatch> watch;  // of `data`
  std::shared_ptr<const wire::ShardMap> map;
  std::unique_ptr<TableFactory> tables;  // outlives the lanes
  std::unique_ptr<ServerSearch> search;  // likewise
  MetricsRegistry registry;
  std::unique_ptr<ServerMetrics> server_metrics;
  std::vector<std::unique_ptr<LaneMetrics>> metrics;
  std::unique_ptr<Peers> peers;
  std::vector<std::shared_ptr<Follower>> followers;  // by lane; none: the server is alone
  std::vector<std::unique_ptr<LaneThread>> lanes;
  std::unique_ptr<ControlService> control;
  HttpServer http;
  ServerIdentity identity;
  BootIdentity boot;
  std::vector<uint16_t> lane_ports;
  std::vector<std::string> lane_endpoints;  // of processes of this host
  LaneSet lane_set;
  std::string warning;
  std::string boot_id;               // of the kernel
  std::atomic<bool> started{false};  // everything above is final
  std::atomic<bool> serving{false};  // nothing has to be recovered any more
  Mutex stop_mutex;
  CondVar never;  // waited for between two looks at the lanes
  bool stopped STRATA_GUARDED_BY(stop_mutex) = false;

  ~Impl() {
    Stop();
    Join();
  }
  Status Start();
  Status CheckCheckpointFolder() const;
  Status OpenData();
  Result<std::unique_ptr<LanePort>> BindLane(const std::shared_ptr<ZmqContext>& context,
                                             uint16_t lane);
  Status StartFollowers();
  Status BindLanes();
  Status WaitServing();
  Status StartWatch();
  Status StartHttp();
  Status StartThreads();
  LaneConfig ConfigOf(uint16_t lane);
  std::optional<CheckpointConfig> CheckpointsOf(uint16_t lane) const;
  LogOptions LogSizes() const;
  std::optional<LaneThread::Storage> StorageOf(uint16_t lane);
  CollectionsConfig CollectionsOf(uint16_t lane);
  std::string MetricsText();
  void Stop();
  void Join();
};

Status Server::Impl::Start() {
  const size_t servers = options.lanes_per_server.size();
  if (options.rank >= servers) {
    return Invalid(fmt::format("server rank {} of {}", options.rank, Counted(servers, "server")));
  }
  STRATA_ASSIGN(wire::ShardMap shard_map, wire::MakeShardMap(options.lanes_per_server));
  map = std::make_shared<const wire::ShardMap>(std::move(shard_map));
  identity.rank = options.rank;
  identity.version = STRATA_VERSION;
  identity.incarnation = (SystemRandom64() | 1U << 16) & ~uint64_t{0xffff};  // never 0: any
  identity.incarnation |= 1;                                                 // the first boot
  boot.nonce = std::max(static_cast<uint32_t>(SystemRandom64()), 1U);
  identity.shards = ShardsOf(*map, options.rank);
  identity.started = options.clock->Now();
  STRATA_ASSIGN(warning, CheckReach(options));
  STRATA_TRY(CheckCheckpointFolder());
  STRATA_TRY(OpenData());
  TableFactoryOptions of_tables = options.tables;
  of_tables.lanes = options.lanes_per_server[options.rank];
  STRATA_ASSIGN(tables, TableFactory::Create(of_tables));
  identity.device = tables->device();
  for (const std::string& line : tables->plan()) Log(LogLevel::kInfo, "{}", line);
  for (const std::string& line : tables->warnings()) Log(LogLevel::kWarning, "{}", line);
  STRATA_ASSIGN(search, ServerSearch::Start({.lanes = of_tables.lanes,
                                             .gpus = tables->left(),
                                             .rates = options.search_rates,
                                             .clock = options.clock}));
  for (const std::string& line : search->plan()) Log(LogLevel::kInfo, "{}", line);
  server_metrics = std::make_unique<ServerMetrics>(registry, tables->has_gpus(), !warning.empty());
  STRATA_TRY(StartFollowers());
  STRATA_TRY(BindLanes());
  STRATA_TRY(StartHttp());
  STRATA_TRY(StartThreads());
  return WaitServing();
}

// Before there is a checkpoint to lose. On a full disk the first one will say what it lacks.
Status Server::Impl::CheckCheckpointFolder() const {
  if (options.checkpoints.empty()) return {};
  const Status made = options.disk->MakeFolder(options.checkpoints);
  return made.code() == StatusCode::kDiskFull ? Status() : made.Prefixed("server.checkpoints");
}

Status Server::Impl::OpenData() {
  if (options.data.empty()) return {};
  const DataFolder::Owner owner{.cluster_id = options.cluster_id,
                                .cluster_name = options.cluster_name,
                                .rank = options.rank,
                                .lanes_per_server = options.lanes_per_server};
  STRATA_ASSIGN(data, DataFolder::Open(*options.disk, options.data, owner,
                                       {.lineage = SystemRandom64(), .nonce = boot.nonce},
                                       LogSizes().segment_bytes));
  STRATA_ASSIGN(boot_id, BootId());
  watch = std::make_unique<FolderWatch>([this] { return data->CheckParts(); },
                                        [this](const Status& lost) {
                                          Log(LogLevel::kError, "{}", lost.message());
                                          lane_set.Drain(DrainReason::kLost);
                                          // A lane reports after it has begun to refuse writes, so
                                          // whoever reads the verdict finds that they are refused.
                                          static_cast<void>(lane_set.Totals(kSecond));
                                        });
  lane_set.data_lost = [this] { return watch->verdict().message(); };
  identity.incarnation = data->incarnation();
  boot = data->boot();
  identity.data = options.data;
  if (!options.on_log_failure) options.on_log_failure = EndProcess;
  return {};
}

std::optional<CheckpointConfig> Server::Impl::CheckpointsOf(uint16_t lane) const {
  CheckpointConfig config;
  config.disk = options.disk;
  config.root = options.checkpoints;
  config.keep = options.checkpoints_kept;
  config.clock = options.clock;
  if (data != nullptr) {
    config.base = std::make_shared<ReplaceableFile>(
        *options.disk, fmt::format("{}/{}", data->LaneFolder(lane), format::kLogBaseName));
    const bool alone = options.lanes_per_server.size() == 1;
    if (config.root.empty() && alone) config.root = data->CheckpointsFolder();
  }
  if (config.root.empty()) return std::nullopt;
  return config;
}

// Of each lane's log.
LogOptions Server::Impl::LogSizes() const {
  LogOptions log;
  if (options.log_bytes_max == 0) return log;
  log.bytes_max = options.log_bytes_max / options.lanes_per_server[options.rank];
  // Room for one to write in, one that is ready, and two that wait for a checkpoint.
  log.segment_bytes = std::min(log.segment_bytes, log.bytes_max / 4);
  return log;
}

std::optional<LaneThread::Storage> Server::Impl::StorageOf(uint16_t lane) {
  if (data == nullptr) return std::nullopt;
  LogOptions log = LogSizes();
  log.disk = options.disk;
  log.folder = data->LaneFolder(lane);
  log.lineage = data->lineage();
  log.lane = lane;
  log.boot_id = boot_id;
  log.made = data->lanes_made();
  return LaneThread::Storage{.log = std::move(log), .on_failure = options.on_log_failure};
}

CollectionsConfig Server::Impl::CollectionsOf(uint16_t lane) {
  CollectionsConfig config;
  config.means = [search = search.get(), lane] { return search->Means(lane); };
  config.clock = options.clock;
  if (!followers.empty()) config.copies = followers[lane];
  if (std::optional<LaneThread::Storage> storage = StorageOf(lane)) {
    config.logs = std::move(storage->log);
    config.logs->folder = data->CollectionsFolder(lane);
  }
  return config;
}

LaneConfig Server::Impl::ConfigOf(uint16_t lane) {
  LaneConfig config;
  config.name = {.server = options.rank, .lane = lane};
  config.map = map;
  config.cluster_id = options.cluster_id;
  config.cluster_name = options.cluster_name;
  config.hello.server = options.rank;
  config.hello.servers = static_cast<uint16_t>(options.lanes_per_server.size());
  config.hello.incarnation = identity.incarnation;
  config.boot = boot;
  config.hello.lane_ports = lane_ports;
  if (options.shared_memory) config.hello.lane_endpoints = lane_endpoints;
  config.hello.server_version = identity.version;
  config.queue_bytes_max = options.queue_bytes_max;
  config.durable = data != nullptr;
  config.checkpoints = CheckpointsOf(lane);
  config.collections = CollectionsOf(lane);
  config.make_table = [factory = tables.get(), lane](const TableSpec& spec) {
    return factory->Make(spec, lane);
  };
  if (lane == 0) {
    config.on_control = [this](Request request) { control->Submit(std::move(request)); };
  }
  return config;
}

// Where it listened before, if that is free: clients find it sooner.
Result<std::unique_ptr<LanePort>> Server::Impl::BindLane(const std::shared_ptr<ZmqContext>& context,
                                                         uint16_t lane) {
  LanePortOptions at{
      .host = options.host,
      .port = lane == 0 ? options.port : uint16_t{0},
      .shared_memory = options.shared_memory,
      .queue_bytes_max = options.queue_bytes_max,
      .clock = options.clock,
      .connections_max = ConnectionsMax(options.lanes_per_server[options.rank]),
      .on_closed = [counts = metrics[lane].get()] { counts->closed_connections.Add(); }};
  if (!options.inproc.empty()) at.inproc = fmt::format("inproc://{}/{}", options.inproc, lane);
  if (at.port == 0 && data != nullptr && lane < data->last_ports().size()) {
    LanePortOptions last = at;
    last.port = data->last_ports()[lane];
    auto port = LanePort::Bind(context, last);
    if (port.ok()) return port;
  }
  auto port = LanePort::Bind(context, at);
  if (port.status().code() != StatusCode::kExists) return port;
  return AlreadyExists(
      fmt::format("another server of this process has the inproc name '{}'; choose another one",
                  options.inproc));
}

Status Server::Impl::StartFollowers() {
  peers = std::make_unique<Peers>(options.cluster_id, options.rank);
  peers->SetServers(options.servers);
  if (options.lanes_per_server.size() == 1) return {};
  for (uint16_t lane = 0; lane < options.lanes_per_server[options.rank]; ++lane) {
    STRATA_ASSIGN(
        followers.emplace_back(),
        Follower::Start({.lane = {.server = options.rank, .lane = lane},
                         .map = map,
                         .means = [search = search.get(), lane] { return search->Means(lane); },
                         .clock = options.clock},
                        *peers));
  }
  return {};
}

// All ports first: HELLO tells them, so no lane may answer before the last is known.
Status Server::Impl::BindLanes() {
  const uint16_t count = options.lanes_per_server[options.rank];
  STRATA_ASSIGN(const std::shared_ptr<ZmqContext> context,
                ZmqContext::Create(1 + count / 4));  // an I/O thread serves several lanes
  std::vector<std::unique_ptr<LanePort>> ports;
  for (uint16_t lane = 0; lane < count; ++lane) {
    metrics.push_back(std::make_unique<LaneMetrics>(registry, lane));
    STRATA_ASSIGN(std::unique_ptr<LanePort> port, BindLane(context, lane));
    lane_ports.push_back(port->port());
    lane_endpoints.push_back(port->shared_endpoint());
    ports.push_back(std::move(port));
  }
  identity.address = HostPort(options.host, lane_ports[0]);
  if (data != nullptr) STRATA_TRY(data->Begin(lane_ports));
  for (uint16_t lane = 0; lane < count; ++lane) {
    lanes.push_back(std::make_unique<LaneThread>(std::move(ports[lane]), ConfigOf(lane),
                                                 *metrics[lane], *options.clock, StorageOf(lane)));
    lane_set.threads.push_back(lanes.back().get());
    lane_set.metrics.push_back(metrics[lane].get());
  }
  return {};
}

Status Server::Impl::StartThreads() {
  control = std::make_unique<ControlService>(
      identity, lane_set,
      ControlService::Options{.drain_timeout = options.shutdown_timeout,
                              .on_shutdown = options.on_shutdown,
                              .standing_warning = warning,
                              .clock = options.clock});
  STRATA_TRY(control->Start());
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    STRATA_TRY(lanes[lane]->Start(fmt::format("lane-{}", lane)));
  }
  started = true;
  return {};
}

Status Server::Impl::WaitServing() {
  Status first;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    const Status status = lanes[lane]->WaitServing();
    if (first.ok()) first = status.Prefixed(fmt::format("lane {}", lane));
  }
  STRATA_TRY(first);
  if (data != nullptr) STRATA_TRY(StartWatch());
  tables->BeginLimit();
  serving = true;
  return {};
}

Status Server::Impl::StartWatch() {
  STRATA_TRY(data->NoteLanesMade());
  STRATA_TRY(data->NoteParts());
  return watch->Start();
}

Status Server::Impl::StartHttp() {
  if (options.http_port < 0) return {};
  http.Handle("/metrics", [this] {
    return HttpReply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = MetricsText()};
  });
  http.Handle("/healthz", [] { return HttpReply{.body = "ok\n"}; });
  http.Handle("/readyz", [this] {
    if (!serving) {
      return HttpReply{.code = 503, .body = data == nullptr ? "starting\n" : "recovering\n"};
    }
    if (const std::string lost = lane_set.data_lost(); !lost.empty()) {
      return HttpReply{.code = 503, .body = lost + "\n"};
    }
    if (lane_set.AnyDraining()) return HttpReply{.code = 503, .body = "draining\n"};
    if (lane_set.AnyDiskFull()) return HttpReply{.body = "ok, but the disk is full: no writes\n"};
    return HttpReply{.body = "ok\n"};
  });
  STRATA_TRY(http.Start(options.http_host, static_cast<uint16_t>(options.http_port)));
  identity.http = fmt::format("http://{}", HostPort(options.http_host, http.port()));
  return {};
}

std::string Server::Impl::MetricsText() {
  if (!started) return {};
  return server_metrics->Text(lane_set.Totals(kScrapeTimeout));
}

void Server::Impl::Stop() {
  const MutexLock lock(stop_mutex);
  if (stopped) return;
  stopped = true;
  if (watch != nullptr) watch->Stop();
  if (serving) {
    lane_set.Drain(DrainReason::kEnds);
    const TimeNs end = options.clock->Now() + options.shutdown_timeout;
    while (!lane_set.AllDrained() && options.clock->Now() < end) {
      never.WaitFor(stop_mutex, 2 * kMillisecond);
    }
  }
  if (control != nullptr) control->Stop();
  for (const auto& lane : lanes) lane->Stop();
  http.Stop();
}

// What follows goes first: it wakes lanes.
void Server::Impl::Join() {
  if (peers != nullptr) peers->Stop();
  for (const auto& follower : followers) follower->Stop();
  for (const auto& lane : lanes) lane->Join();
  if (control != nullptr) control->Join();
  http.Join();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
void Server::Stop() { impl_->Stop(); }
void Server::Join() { impl_->Join(); }
void Server::SetServers(std::vector<std::string> servers) {
  impl_->peers->SetServers(std::move(servers));
}
uint16_t Server::port() const { return impl_->lane_ports[0]; }
uint16_t Server::http_port() const { return impl_->options.http_port < 0 ? 0 : impl_->http.port(); }
const std::vector<uint16_t>& Server::lane_ports() const { return impl_->lane_ports; }
uint64_t Server::incarnation() const { return impl_->identity.incarnation; }

std::string Server::Description() const {
  const ServerIdentity& identity = impl_->identity;
  return fmt::format("rank {} tcp://{} lanes {} device {} http {} data {} incarnation {:016x}",
                     identity.rank, identity.address, impl_->lanes.size(), identity.device,
                     identity.http.empty() ? "off" : identity.http,
                     identity.data.empty() ? "memory-only" : identity.data, identity.incarnation);
}

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  STRATA_TRY(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace strata
