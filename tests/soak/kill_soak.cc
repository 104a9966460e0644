#include "tests/soak/kill_soak.h"

#include <algorithm>

#include "base/print.h"
#include "base/random.h"
#include "tests/soak/moments.h"

namespace strata::soak {
namespace {

constexpr uint64_t kVerifyAllEvery = 10;
constexpr uint64_t kProgressEvery = 50;
constexpr TimeNs kLoadMax = 150 * kMillisecond;     // from the last comparison to the kill
constexpr TimeNs kRecoveryMax = 40 * kMillisecond;  // from a start to the kill in the middle of it
constexpr double kBothServers = 0.15;
constexpr double kKillAgain = 0.25;

// One cluster, one seed.
class KillRun {
 public:
  KillRun(const SoakClusterOptions& options, SoakReport* report)
      : report_(report), random_(options.seed), cluster_(options) {}

  Status Run(uint64_t cycles) {
    STRATA_TRY(cluster_.Start());
    const uint32_t clients = cluster_.options().clients;
    for (uint32_t client = 0; client < clients; ++client) cluster_.StartClient(client);
    if (cluster_.options().data) cluster_.StartCheckpoints();
    Status status = cluster_.AwaitProgress();
    for (uint64_t cycle = 1; cycle <= cycles && status.ok(); ++cycle) {
      status = Cycle(cycle % kVerifyAllEvery == 0 || cycle == cycles);
      ++report_->cycles;
      if (report_->cycles % kProgressEvery == 0) SayProgress();
    }
    cluster_.ReadHistories();
    report_->checkpoints += cluster_.checkpoints();
    report_->operations += cluster_.oracle().submitted();
    report_->acked += cluster_.oracle().acked();
    report_->sessions_lost += cluster_.oracle().sessions() - clients;
    return status;
  }

 private:
  Status Cycle(bool all) {
    Pass(RandomTime(random_, kLoadMax));
    STRATA_TRY(cluster_.CheckAlive());
    STRATA_TRY(KillServers());
    STRATA_TRY(cluster_.AwaitProgress());
    STRATA_TRY(cluster_.Pause());
    STRATA_TRY(cluster_.Verify(all, &report_->findings));
    cluster_.Resume();
    return {};
  }

  Status KillServers() {
    const uint32_t servers = cluster_.options().servers;
    const auto first = static_cast<uint32_t>(random_.Below(servers));
    std::vector<uint32_t> victims = {first};
    if (servers > 1 && random_.Chance(kBothServers)) victims.push_back((first + 1) % servers);
    for (const uint32_t rank : victims) cluster_.KillServer(rank);
    for (const uint32_t rank : victims) cluster_.StartServer(rank);
    report_->restarts += victims.size();
    if (random_.Chance(kKillAgain)) {
      Pass(RandomTime(random_, kRecoveryMax));
      cluster_.KillServer(first);
      cluster_.StartServer(first);
      ++report_->restarts;
    }
    for (const uint32_t rank : victims) STRATA_TRY(cluster_.AwaitReady(rank));
    return {};
  }

  void SayProgress() const {
    const Findings& found = report_->findings;
    PrintStderr(
        "{} cycles, {} restarts, {} operations acknowledged: lost {}, doubled {}, wrong {}\n",
        report_->cycles, report_->restarts, report_->acked + cluster_.oracle().acked(), found.lost,
        found.doubled, found.wrong);
  }

  SoakReport* report_;
  Random random_;
  SoakCluster cluster_;
};

}  // namespace

SoakReport RunKillSoak(uint64_t cycles, const SoakClusterOptions& cluster) {
  const auto run = [one = cluster](uint64_t seed, uint64_t some, SoakReport* report) mutable {
    one.seed = seed;
    return KillRun(one, report).Run(some);
  };
  return RunSeeds("kill", cluster.seed, cycles, run);
}

}  // namespace strata::soak
