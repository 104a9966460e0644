#include "tests/sim/nemesis.h"

#include <fmt/format.h>

namespace strata::sim {
namespace {

constexpr uint64_t kStrikesMax = 120;
constexpr TimeNs kWatchEvery = 20 * kMillisecond;
constexpr uint64_t kStepsMax = 60;    // of a server, until it dies
constexpr uint64_t kWritesMax = 30;   // of a disk, until it fails
constexpr uint64_t kChangesMax = 60;  // of the folder of checkpoints, until it loses power

}  // namespace

Nemesis::Nemesis(Cluster& cluster, Load& load, SharedFolder& shared, const NemesisOptions& options)
    : cluster_(cluster),
      load_(load),
      shared_(shared),
      options_(options),
      random_(options.seed ^ 0x6e656d65736973),
      reviving_(cluster.servers()),
      disk_failed_(cluster.servers()) {}

void Nemesis::Begin() {
  Plan();
  Watch();
}

TimeNs Nemesis::Soon(TimeNs most) {
  return cluster_.now() + 1 + static_cast<TimeNs>(random_.Below(static_cast<uint64_t>(most)));
}

void Nemesis::Plan() {
  if (ended_ || strikes_++ == kStrikesMax) return;
  cluster_.At(Soon(2 * options_.every), [this] {
    if (!ended_) Strike();
    Plan();
  });
}

void Nemesis::Watch() {
  const auto servers = static_cast<uint16_t>(cluster_.servers());
  for (uint16_t server = 0; server < servers; ++server) {
    if (!cluster_.server(server).running() && !reviving_[server]) Revive(server);
  }
  cluster_.At(cluster_.now() + kWatchEvery, [this] { Watch(); });
}

void Nemesis::Strike() {
  const auto server = static_cast<uint16_t>(random_.Below(cluster_.servers()));
  SimServer& target = cluster_.server(server);
  // It is no use to kill what is just coming up again and again.
  if (!target.serving() && random_.Chance(0.8)) return;
  switch (random_.Below(9)) {
    case 0:
    case 1:
      return Kill(server);
    case 2:
    case 3:
      return target.KillAfter(1 + random_.Below(kStepsMax));
    case 4:
      if (options_.power) LosePower(server);
      return;
    case 5:
      if (!options_.power) return;
      disk_failed_[server] = true;
      if (random_.Chance(0.5)) return target.disk().FailAppend(1 + random_.Below(kWritesMax));
      return target.disk().FailSync(1 + random_.Below(kWritesMax));
    case 6:
      if (options_.full_disks) FillDisk(server);
      return;
    case 7:
      if (options_.power) shared_.LosePowerAfter(1 + random_.Below(kChangesMax));
      return;
    default:
      if (options_.partitions) Part(server);
  }
}

void Nemesis::Kill(uint16_t server) {
  ++kills_;
  cluster_.server(server).Kill();
}

void Nemesis::LosePower(uint16_t server) {
  ++power_losses_;
  disk_failed_[server] = false;
  cluster_.server(server).disk().FailAppend(0);
  cluster_.server(server).disk().FailSync(0);
  load_.NotePowerLoss(server, cluster_.server(server).LosePower());
}

void Nemesis::FillDisk(uint16_t server) {
  SimDisk& disk = cluster_.server(server).disk();
  disk.SetCapacity(disk.bytes_used() + random_.Below(2) * 16384);
  cluster_.At(Soon(kSecond), [&disk] { disk.SetCapacity(UINT64_MAX); });
}

// One client does not reach one server for a while.
void Nemesis::Part(uint16_t server) {
  const std::string client = cluster_.client_name(random_.Below(cluster_.clients()));
  std::vector<std::string> endpoints;
  for (int port = kMainPort; port < kMainPort + 40; ++port) {
    endpoints.push_back(fmt::format("tcp://server{}:{}", server, port));
  }
  for (const std::string& endpoint : endpoints) cluster_.network().Cut(client, endpoint);
  cluster_.At(Soon(kSecond), [this, client, endpoints] {
    for (const std::string& endpoint : endpoints) cluster_.network().Heal(client, endpoint);
  });
}

void Nemesis::Revive(uint16_t server) {
  reviving_[server] = true;
  cluster_.At(Soon(options_.down_max), [this, server] {
    reviving_[server] = false;
    SimServer& target = cluster_.server(server);
    // A disk that has failed a write or a sync is of no use until the machine was off.
    if (disk_failed_[server]) LosePower(server);
    if (options_.flips && !ended_ && random_.Chance(0.1)) target.FlipNextReplay(0.5);
    target.Start(cluster_.now());
  });
}

void Nemesis::End() {
  ended_ = true;
  shared_.LosePowerAfter(0);
  cluster_.network().HealAll();
  cluster_.network().SetFaults(0, 0);
  const auto servers = static_cast<uint16_t>(cluster_.servers());
  for (uint16_t server = 0; server < servers; ++server) {
    SimDisk& disk = cluster_.server(server).disk();
    disk.SetCapacity(UINT64_MAX);
    disk.FailAppend(0);
    disk.FailSync(0);
    cluster_.server(server).KillAfter(0);
    cluster_.server(server).FlipNextReplay(0);
  }
}

}  // namespace strata::sim
