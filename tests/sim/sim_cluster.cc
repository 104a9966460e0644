#include "tests/sim/sim_cluster.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "tests/support/sanitizers.h"

namespace strata::sim {
namespace {

constexpr TimeNs kRunMax = 3600 * kSecond;

uint64_t EnvNumber(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

std::vector<uint64_t> Seeds() {
  const uint64_t first = EnvNumber("STRATA_SIM_SEED", 1);
  std::vector<uint64_t> seeds(EnvNumber("STRATA_SIM_SEEDS", kSanitized ? 10 : 20));
  for (size_t i = 0; i < seeds.size(); ++i) seeds[i] = first + i;
  return seeds;
}

SimClient::SimClient(SimNetwork& network, size_t index, uint64_t session,
                     const ClusterOptions& options)
    : session_(session),
      name_(session == 0 ? fmt::format("client{}", index)
                         : fmt::format("client{}-{}", index, session)),
      core_([&] {
        ClientCoreOptions core;
        for (size_t i = 0; i < options.lanes_per_server.size(); ++i) {
          core.servers.push_back(fmt::format("server{}:{}", i, kMainPort));
        }
        core.cluster_id = kClusterId;
        core.client_hi = options.seed;
        core.client_lo = index + 1 + (session << 32);
        core.client_name = fmt::format("client {}", index);
        core.request_timeout = kRunMax;
        core.attempt_timeout = 4 * options.delay_max;
        core.server_lost_after = options.server_lost_after;
        core.lane_bytes_in_flight = 4 * options.chunk_bytes;
        core.chunk_bytes = options.chunk_bytes;
        return core;
      }()),
      port_(network.OpenPort(name_)) {}

void SimClient::Poll(TimeNs now, uint64_t& history) {
  while (std::optional<Envelope> envelope = port_->Receive(now).value()) {
    MixIn(history, *envelope, now);
    core_.Handle(std::move(*envelope), now);
  }
  if (core_.NextTick() <= now) core_.Tick(now);
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
  SimServerOptions server = options.server;
  server.seed = options.seed;
  const auto servers = static_cast<uint16_t>(options.lanes_per_server.size());
  for (uint16_t i = 0; i < servers; ++i) {
    servers_.push_back(std::make_unique<SimServer>(network_, clock_, i, map_, server));
  }
  for (size_t i = 0; i < options.clients; ++i) {
    clients_.push_back(std::make_unique<SimClient>(network_, i, 0, options));
  }
}

void Cluster::At(TimeNs time, std::function<void()> action) {
  actions_.emplace(time, std::move(action));
}

void Cluster::RenewClient(size_t i) {
  clients_[i] = std::make_unique<SimClient>(network_, i, clients_[i]->session() + 1, options_);
}

void Cluster::PollAll() {
  while (!actions_.empty() && actions_.begin()->first <= clock_.Now()) {
    const auto action = std::move(actions_.extract(actions_.begin()).mapped());
    action();
  }
  for (auto& server : servers_) server->Poll(clock_.Now(), history_);
  for (auto& client : clients_) client->Poll(clock_.Now(), history_);
}

bool Cluster::Run(const std::function<bool()>& done) {
  const TimeNs end = clock_.Now() + kRunMax;
  PollAll();
  while (!done()) {
    TimeNs timer = actions_.empty() ? kNever : actions_.begin()->first;
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
