#include "tests/soak/item_soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/print.h"
#include "base/random.h"
#include "tests/soak/item_client.h"
#include "tests/soak/moments.h"

namespace strata::soak {
namespace {

constexpr uint64_t kProgressEvery = 50;
constexpr TimeNs kLoadMax = 150 * kMillisecond;     // from the last comparison to the kill
constexpr TimeNs kRecoveryMax = 40 * kMillisecond;  // from a start to the kill in the middle of it
constexpr double kBothServers = 0.15;
constexpr double kKillAgain = 0.25;

// One cluster, one seed.
class ItemRun {
 public:
  ItemRun(const SoakClusterOptions& options, SoakReport* report)
      : report_(report), random_(options.seed), servers_(options) {}

  Status Run(uint64_t cycles) {
    STRATA_TRY(servers_.StartServers());
    for (uint32_t client = 0; client < servers_.options().clients; ++client) {
      STRATA_ASSIGN(auto store, Connect());
      if (client == 0) {
        STRATA_TRY(Collections(*store).Create(
            {.name = kItemCollection,
             .attributes = {},
             .copies = static_cast<uint8_t>(servers_.options().copies)}));
      }
      clients_.push_back(std::make_unique<ItemClient>(client,
                                                      servers_.options().seed * 1000 + client,
                                                      servers_.options().data, std::move(store)));
      STRATA_TRY(clients_.back()->Start());
    }
    STRATA_ASSIGN(watcher_, Connect());
    Status status = AwaitProgress();
    for (uint64_t cycle = 1; cycle <= cycles && status.ok(); ++cycle) {
      status = Cycle();
      ++report_->cycles;
      if (report_->cycles % kProgressEvery == 0) SayProgress();
    }
    for (const auto& client : clients_) {
      client->Pause();
      report_->acked += client->acked();
      report_->operations += client->acked() + client->searches();
      Add(client->findings());
    }
    return status;
  }

 private:
  Result<std::unique_ptr<RemoteStore>> Connect() const {
    return RemoteStore::Connect({.servers = servers_.addresses(),
                                 .cluster_id = SoakServers::cluster_id(),
                                 .client_name = "soak",
                                 .request_timeout = servers_.options().patience});
  }

  // Every client gets a change acknowledged.
  Status AwaitProgress() {
    std::vector<uint64_t> before;
    for (const auto& client : clients_) before.push_back(client->acked());
    Status ended;
    const bool done = WaitUntil(
        [&] {
          for (size_t i = 0; i < clients_.size(); ++i) {
            ended = clients_[i]->status();
            if (!ended.ok()) return true;
            if (clients_[i]->acked() == before[i]) return false;
          }
          return true;
        },
        servers_.options().patience);
    if (!ended.ok()) return ended;
    return done ? Status() : DeadlineExceeded("clients get nothing acknowledged");
  }

  Status Cycle() {
    Pass(RandomTime(random_, kLoadMax));
    STRATA_TRY(servers_.CheckServers());
    STRATA_TRY(CountAtCopies());
    STRATA_TRY(KillServers());
    STRATA_TRY(AwaitProgress());
    for (const auto& client : clients_) client->Pause();
    for (const auto& client : clients_) {
      STRATA_TRY(client->status());
      STRATA_TRY(client->Verify(&report_->findings));
    }
    for (const auto& client : clients_) client->Resume();
    return {};
  }

  // Servers count from their start on.
  Status CountAtCopies() {
    STRATA_ASSIGN(const auto by_lane, Collections(*watcher_).StatsByLane(kItemCollection));
    at_copies_.resize(by_lane.size());
    for (size_t lane = 0; lane < by_lane.size(); ++lane) {
      const uint64_t now = by_lane[lane].copy_queries;
      report_->at_copies += now >= at_copies_[lane] ? now - at_copies_[lane] : now;
      at_copies_[lane] = now;
    }
    return {};
  }

  Status KillServers() {
    const uint32_t servers = servers_.options().servers;
    const auto first = static_cast<uint32_t>(random_.Below(servers));
    std::vector<uint32_t> victims = {first};
    if (servers > 1 && random_.Chance(kBothServers)) victims.push_back((first + 1) % servers);
    for (const uint32_t rank : victims) servers_.KillServer(rank);
    for (const uint32_t rank : victims) servers_.StartServer(rank);
    report_->restarts += victims.size();
    if (random_.Chance(kKillAgain)) {
      Pass(RandomTime(random_, kRecoveryMax));
      servers_.KillServer(first);
      servers_.StartServer(first);
      ++report_->restarts;
    }
    for (const uint32_t rank : victims) STRATA_TRY(servers_.AwaitReady(rank));
    return {};
  }

  void Add(const Findings& found) {
    report_->findings.wrong += found.wrong;
    for (const std::string& example : found.examples) {
      report_->findings.examples.push_back(example);
    }
  }

  void SayProgress() const {
    uint64_t acked = report_->acked;
    for (const auto& client : clients_) acked += client->acked();
    const Findings& found = report_->findings;
    PrintStderr(
        "{} cycles, {} restarts, {} changes acknowledged: lost {}, resurrected {}, wrong "
        "{}\n",
        report_->cycles, report_->restarts, acked, found.lost, found.doubled, found.wrong);
  }

  SoakReport* report_;
  Random random_;
  SoakServers servers_;
  std::vector<std::unique_ptr<ItemClient>> clients_;
  std::unique_ptr<RemoteStore> watcher_;
  std::vector<uint64_t> at_copies_;  // queries for which copies were searched, by lane
};

}  // namespace

SoakReport RunItemSoak(uint64_t cycles, const SoakClusterOptions& cluster) {
  const auto run = [one = cluster](uint64_t seed, uint64_t some, SoakReport* report) mutable {
    one.seed = seed;
    return ItemRun(one, report).Run(some);
  };
  SoakReport report = RunSeeds("items", cluster.seed, cycles, run);
  report.more = fmt::format(", \"at_copies\": {}", report.at_copies);
  return report;
}

}  // namespace strata::soak
