#include "tests/soak/kill_soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/random.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr uint64_t kCyclesPerSeed = 100;
constexpr uint64_t kVerifyAllEvery = 10;
constexpr uint64_t kProgressEvery = 50;
constexpr TimeNs kLoadMax = 150 * kMillisecond;     // from the last comparison to the kill
constexpr TimeNs kRecoveryMax = 40 * kMillisecond;  // from a start to the kill in the middle of it
constexpr double kBothServers = 0.15;
constexpr double kKillAgain = 0.25;
constexpr double kKillCheckpoints = 0.3;

void Pass(TimeNs time) {
  WaitUntil([] { return false; }, time);
}

TimeNs Random(Random& random, TimeNs max) {
  return static_cast<TimeNs>(random.Below(static_cast<uint64_t>(max)));
}

// One cluster, one seed.
class KillRun {
 public:
  KillRun(const KillSoakOptions& options, SoakReport* report)
      : options_(options),
        report_(report),
        random_(options.cluster.seed),
        cluster_(options.cluster) {}

  Status Run(uint64_t cycles) {
    STRATA_TRY(cluster_.Start());
    const uint32_t clients = options_.cluster.clients;
    for (uint32_t client = 0; client < clients; ++client) cluster_.StartClient(client);
    if (options_.cluster.data) cluster_.StartCheckpoints();
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
    report_->sessions_lost += cluster_.oracle().sessions() - sessions_expected();
    return status;
  }

 private:
  Status Cycle(bool all) {
    Pass(strata::soak::Random(random_, kLoadMax));
    STRATA_TRY(cluster_.CheckAlive());
    STRATA_TRY(options_.kind == "client" ? KillClients() : KillServers());
    STRATA_TRY(cluster_.AwaitProgress());
    STRATA_TRY(cluster_.Pause());
    STRATA_TRY(cluster_.Verify(all, &report_->findings));
    cluster_.Resume();
    return {};
  }

  Status KillServers() {
    const uint32_t servers = options_.cluster.servers;
    const auto first = static_cast<uint32_t>(random_.Below(servers));
    std::vector<uint32_t> victims = {first};
    if (servers > 1 && random_.Chance(kBothServers)) victims.push_back((first + 1) % servers);
    for (const uint32_t rank : victims) cluster_.KillServer(rank);
    for (const uint32_t rank : victims) cluster_.StartServer(rank);
    report_->restarts += victims.size();
    if (random_.Chance(kKillAgain)) {
      Pass(strata::soak::Random(random_, kRecoveryMax));
      cluster_.KillServer(first);
      cluster_.StartServer(first);
      ++report_->restarts;
    }
    for (const uint32_t rank : victims) STRATA_TRY(cluster_.AwaitReady(rank));
    return {};
  }

  // A client, or who takes the checkpoints.
  Status KillClients() {
    if (random_.Chance(kKillCheckpoints)) {
      cluster_.KillCheckpoints();
      cluster_.StartCheckpoints();
      ++report_->restarts;
      return {};
    }
    const auto client = static_cast<uint32_t>(random_.Below(options_.cluster.clients));
    cluster_.KillClient(client);
    cluster_.StartClient(client);
    ++report_->restarts;
    ++clients_killed_;
    return {};
  }

  // One for each process of a client. A client that was killed before it came to connect has none,
  // so that losses could hide behind it; those kills are far rarer than a loss that repeats.
  uint64_t sessions_expected() const {
    return std::min(options_.cluster.clients + clients_killed_, cluster_.oracle().sessions());
  }

  void SayProgress() const {
    const Findings& found = report_->findings;
    fmt::print(
        stderr,
        "{} cycles, {} restarts, {} operations acknowledged: lost {}, doubled {}, wrong {}\n",
        report_->cycles, report_->restarts, report_->acked + cluster_.oracle().acked(), found.lost,
        found.doubled, found.wrong);
  }

  const KillSoakOptions& options_;
  SoakReport* report_;
  strata::Random random_;
  SoakCluster cluster_;
  uint64_t clients_killed_ = 0;
};

}  // namespace

SoakReport RunKillSoak(const KillSoakOptions& options) {
  SoakReport report;
  report.soak = options.kind == "server" ? "kill" : options.kind;
  const TimeNs began = RealClock().Now();
  KillSoakOptions one = options;
  while (report.cycles < options.cycles) {
    ++report.seeds;
    const Status status =
        KillRun(one, &report).Run(std::min(kCyclesPerSeed, options.cycles - report.cycles));
    Count(status.Prefixed(fmt::format("seed {}, cycle {}", one.cluster.seed, report.cycles)),
          &report);
    if (!status.ok()) break;
    ++one.cluster.seed;
  }
  for (const std::string& example : report.findings.examples) fmt::print(stderr, "{}\n", example);
  report.elapsed = RealClock().Now() - began;
  return report;
}

}  // namespace strata::soak
