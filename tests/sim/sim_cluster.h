// A cluster in one thread: the very Lane of the servers and the very ClientCore of the clients, on
// a simulated network, clock and disk. The same seed gives the same run, to the bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ps/client/client_core.h"
#include "tests/sim/sim_server.h"
#include "tests/support/sim_network.h"

namespace strata::sim {

// The first of the seeds that every simulation runs with, and how many: STRATA_SIM_SEED (1) and
// STRATA_SIM_SEEDS (20).
std::vector<uint64_t> Seeds();

struct ClusterOptions {
  uint64_t seed = 1;
  std::vector<uint16_t> lanes_per_server = {2};
  size_t clients = 1;
  double drop = 0;
  double repeat = 0;
  TimeNs delay_max = 20 * kMillisecond;
  size_t chunk_bytes = 256;  // small, so that batches are cut
  TimeNs server_lost_after = 600 * kSecond;
  SimServerOptions server;  // its seed is the cluster's
};

class SimClient {
 public:
  // `session`: the how manieth client of that index, from 0.
  SimClient(SimNetwork& network, size_t index, uint64_t session, const ClusterOptions& options);
  void Poll(TimeNs now, uint64_t& history);
  ClientCore& core() { return core_; }
  uint64_t session() const { return session_; }
  const std::string& name() const { return name_; }  // in the network

 private:
  const uint64_t session_;
  const std::string name_;  // "client0", "client0-1"
  ClientCore core_;
  std::unique_ptr<MessagePort> port_;
};

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options);

  // Runs until `done`; false when nothing can happen any more, or after an hour of simulated time.
  bool Run(const std::function<bool()>& done);
  // `action` runs once the clock has come to `time`.
  void At(TimeNs time, std::function<void()> action);

  size_t clients() const { return clients_.size(); }
  size_t servers() const { return servers_.size(); }
  ClientCore& client(size_t i) { return clients_[i]->core(); }
  const std::string& client_name(size_t i) const { return clients_[i]->name(); }
  // Another client, of another name, takes the place of this one, whose operations have all ended.
  void RenewClient(size_t i);
  SimServer& server(size_t i) { return *servers_[i]; }
  SimNetwork& network() { return network_; }
  TimeNs now() const { return clock_.Now(); }
  uint64_t history() const { return history_; }
  const wire::ShardMap& map() const { return *map_; }

  // Blocking forms, for set-up and final checks.
  Status CreateTable(size_t client, const TableSpec& spec);
  Outcome SubmitAndRun(size_t client, Operation operation);

 private:
  void PollAll();

  const ClusterOptions options_;
  SimClock clock_;
  SimNetwork network_;
  std::shared_ptr<const wire::ShardMap> map_;
  std::vector<std::unique_ptr<SimServer>> servers_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  std::multimap<TimeNs, std::function<void()>> actions_;
  uint64_t history_ = 0;
};

}  // namespace strata::sim
