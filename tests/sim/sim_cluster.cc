#include "tests/sim/sim_cluster.h"

#include <fmt/format.h>

#include <cstdlib>

#include "storage/memory/host_table.h"

namespace strata::sim {
namespace {

constexpr uint64_t kClusterId = 77;
constexpr int kMainPort = 7000;
constexpr TimeNs kRunMax = 3600 * kSecond;

std::string Endpoint(uint16_t server, int port) {
  return fmt::format("tcp://server{}:{}", server, port);
}

uint64_t EnvNumber(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void Mix(uint64_t& history, const Envelope& envelope, TimeNs now) {
  history = Hash64(envelope.peer, history ^ static_cast<uint64_t>(now));
  for (const Frame& frame : envelope.message) history = Hash64(frame.bytes(), history);
}

}  // namespace

std::vector<uint64_t> Seeds() {
  const uint64_t first = EnvNumber("STRATA_SIM_SEED", 1);
  std::vector<uint64_t> seeds(EnvNumber("STRATA_SIM_SEEDS", 20));
  for (size_t i = 0; i < seeds.size(); ++i) seeds[i] = first + i;
  return seeds;
}

SimServer::SimServer(SimNetwork& network, uint16_t index, std::shared_ptr<const wire::ShardMap> map,
                     uint64_t incarnation) {
  wire::HelloReply hello;
  hello.server = index;
  hello.servers = static_cast<uint16_t>(map->lanes.back().server + 1);
  hello.incarnation = incarnation;
  for (const wire::LaneName& lane : map->lanes) {
    if (lane.server == index) {
      hello.lane_ports.push_back(static_cast<uint16_t>(kMainPort + 1 + lane.lane));
    }
  }
  ports_.push_back({network.OpenPort(Endpoint(index, kMainPort)), 0});
  const auto lanes = static_cast<uint16_t>(hello.lane_ports.size());
  for (uint16_t lane = 0; lane < lanes; ++lane) {
    LaneConfig config;
    config.name = {index, lane};
    config.map = map;
    config.cluster_id = kClusterId;
    config.hello = hello;
    config.make_table = [](const TableSpec& spec) { return std::make_unique<HostTable>(spec); };
    metrics_.push_back(std::make_unique<LaneMetrics>(registry_, lane));
    lanes_.push_back(std::make_unique<Lane>(std::move(config), *metrics_.back()));
    ports_.push_back({network.OpenPort(Endpoint(index, hello.lane_ports[lane])), lane});
  }
}

void SimServer::Poll(TimeNs now, uint64_t& history) {
  std::vector<Envelope> out;
  for (Port& port : ports_) {
    while (std::optional<Envelope> envelope = port.port->Receive(now).value()) {
      Mix(history, *envelope, now);
      lanes_[port.lane]->Handle(std::move(*envelope), now, &out);
      for (Envelope& reply : out) (void)port.port->Send(std::move(reply));
      out.clear();
    }
  }
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lanes_[lane]->NextTick() > now) continue;
    lanes_[lane]->Tick(now, &out);
    for (Envelope& reply : out) (void)ports_[lane + 1].port->Send(std::move(reply));
    out.clear();
  }
}

TimeNs SimServer::NextTick() const {
  TimeNs next = kNever;
  for (const auto& lane : lanes_) next = std::min(next, lane->NextTick());
  return next;
}

SimClient::SimClient(SimNetwork& network, size_t index, const ClusterOptions& options)
    : core_([&] {
        ClientCoreOptions core;
        for (size_t i = 0; i < options.lanes_per_server.size(); ++i) {
          core.servers.push_back(fmt::format("server{}:{}", i, kMainPort));
        }
        core.cluster_id = kClusterId;
        core.client_hi = options.seed;
        core.client_lo = index + 1;
        core.client_name = fmt::format("client {}", index);
        core.request_timeout = kRunMax;
        core.attempt_timeout = 4 * options.delay_max;
        core.server_lost_after = options.server_lost_after;
        core.lane_bytes_in_flight = 4 * options.chunk_bytes;
        core.chunk_bytes = options.chunk_bytes;
        return core;
      }()),
      port_(network.OpenPort(fmt::format("client{}", index))) {}

void SimClient::Poll(TimeNs now, uint64_t& history) {
  while (std::optional<Envelope> envelope = port_->Receive(now).value()) {
    Mix(history, *envelope, now);
    core_.Handle(std::move(*envelope), now);
  }
  if (core_.NextTick() <= now) core_.Tick(now);
  Flush();
}

void SimClient::Flush() {
  for (Envelope& envelope : core_.TakeOutgoing()) (void)port_->Send(std::move(envelope));
}

Cluster::Cluster(const ClusterOptions& options)
    : options_(options),
      network_(&clock_, {.seed = options.seed,
                         .drop = options.drop,
                         .repeat = options.repeat,
                         .delay_min = kMillisecond / 10,
                         .delay_max = options.delay_max}),
      map_(std::make_shared<const wire::ShardMap>(
          wire::MakeShardMap(options.lanes_per_server).value())) {
  const auto servers = static_cast<uint16_t>(options.lanes_per_server.size());
  for (uint16_t i = 0; i < servers; ++i) {
    servers_.push_back(std::make_unique<SimServer>(network_, i, map_, 1000 + i));
  }
  for (size_t i = 0; i < options.clients; ++i) {
    clients_.push_back(std::make_unique<SimClient>(network_, i, options));
  }
}

void Cluster::PollAll() {
  for (auto& server : servers_) server->Poll(clock_.Now(), history_);
  for (auto& client : clients_) client->Poll(clock_.Now(), history_);
}

bool Cluster::Run(const std::function<bool()>& done) {
  const TimeNs end = clock_.Now() + kRunMax;
  PollAll();
  while (!done()) {
    TimeNs timer = kNever;
    for (const auto& server : servers_) timer = std::min(timer, server->NextTick());
    for (const auto& client : clients_) timer = std::min(timer, client->core().NextTick());
    if (std::min(timer, network_.NextDelivery()) > end) return false;
    if (network_.NextDelivery() <= timer) {
      network_.RunOne();
    } else {
      clock_.AdvanceTo(timer);
    }
    PollAll();
  }
  return true;
}

void Cluster::Restart(uint16_t server) {
  servers_[server].reset();
  servers_[server] = std::make_unique<SimServer>(network_, server, map_, 2000 + ++restarts_);
}

Status Cluster::CreateTable(size_t client, const TableSpec& spec) {
  std::optional<Status> outcome;
  clients_[client]->core().CreateTable(
      spec, [&](const Status& status) { outcome = status; }, clock_.Now());
  if (!Run([&] { return outcome.has_value(); })) return Failed("the simulation stands still");
  return *outcome;
}

Outcome Cluster::SubmitAndRun(size_t client, Operation operation) {
  std::optional<Outcome> outcome;
  clients_[client]->core().Submit(
      std::move(operation), [&](Outcome o) { outcome = std::move(o); }, clock_.Now());
  if (!Run([&] { return outcome.has_value(); })) {
    return {.status = Failed("the simulation stands still"), .lanes = {}};
  }
  return std::move(*outcome);
}

}  // namespace strata::sim
