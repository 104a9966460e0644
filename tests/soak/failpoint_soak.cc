#include "tests/soak/failpoint_soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "base/failpoint.h"
#include "base/random.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr uint64_t kProgressEvery = 20;
constexpr uint64_t kRoundsPerSeed = 4;            // over all failpoints
constexpr TimeNs kReachWithin = 3 * kSecond / 2;  // of load, until the failpoint counts as missed
constexpr uint64_t kHitMax = 12;                  // fires at a random one of the first hits
constexpr int kExitFailed = 1;                    // at start: what it says is checked
constexpr int kExitLogFailed = 70;                // in service: nothing can be promised any more
constexpr const char* kActions[] = {"kill", "error"};

using HitCounts = std::map<std::string, uint64_t>;  // "log.write=kill"

// One cluster, one seed.
class FailpointRun {
 public:
  FailpointRun(const SoakClusterOptions& options, uint64_t hits, HitCounts* counts,
               SoakReport* report)
      : hits_(hits), counts_(counts), report_(report), random_(options.seed), cluster_(options) {}

  Status Run() {
    STRATA_TRY(cluster_.Start());
    for (uint32_t client = 0; client < cluster_.options().clients; ++client) {
      cluster_.StartClient(client);
    }
    cluster_.StartCheckpoints();
    STRATA_TRY(cluster_.AwaitProgress());
    for (uint64_t round = 0; round < kRoundsPerSeed; ++round) {
      for (const std::string_view name : KnownFailpoints()) {
        for (const std::string action : kActions) {
          const std::string armed = fmt::format("{}={}", name, action);
          if ((*counts_)[armed] >= hits_) continue;
          STRATA_TRY(Cycle(std::string(name), action).Prefixed(armed));
        }
      }
    }
    STRATA_TRY(Compare(true));
    report_->checkpoints += cluster_.checkpoints();
    report_->operations += cluster_.oracle().submitted();
    report_->acked += cluster_.oracle().acked();
    report_->sessions_lost += cluster_.oracle().sessions() - cluster_.options().clients;
    return {};
  }

 private:
  Status Cycle(const std::string& name, const std::string& action) {
    const auto rank = static_cast<uint32_t>(random_.Below(cluster_.options().servers));
    // What happens at a start is reached once or twice, what happens under load any number of
    // times: after a hit that did not come, the first one will do.
    uint64_t& hit_max = hit_max_.try_emplace(name, kHitMax).first->second;
    const uint64_t hit = 1 + random_.Below(hit_max);
    cluster_.KillServer(rank);
    cluster_.StartServer(rank, {{"STRATA_FAILPOINTS", fmt::format("{}={}@{}", name, action, hit)}});
    Process& server = cluster_.server(rank);
    const std::string mark = fmt::format("failpoint {}: {}", name, action);
    // Through the wait for text, since a server that dies says its last words first.
    const bool reached = server.WaitForErrors(mark, kReachWithin);
    (*counts_)[name + "=" + action] += reached ? 1 : 0;
    if (!reached) hit_max = 1 + (hit - 1) / 3;
    if (++report_->cycles % kProgressEvery == 0) {
      fmt::print(stderr, "{} cycles: lost {}, doubled {}, wrong {}; {}\n", report_->cycles,
                 report_->findings.lost, report_->findings.doubled, report_->findings.wrong,
                 CountsJson(*counts_));
    }
    // A call that failed ends the server, or the server goes on without it.
    WaitUntil([&] { return !server.Running(); }, kSecond / 5);
    if (!server.Running()) STRATA_TRY(CheckEnd(action, server));
    cluster_.KillServer(rank);
    cluster_.StartServer(rank);
    report_->restarts += 2;
    STRATA_TRY(cluster_.AwaitReady(rank));
    return Compare(false);
  }

  Status Compare(bool all) {
    STRATA_TRY(cluster_.AwaitProgress());
    STRATA_TRY(cluster_.Pause());
    STRATA_TRY(cluster_.Verify(all, &report_->findings));
    cluster_.Resume();
    return {};
  }

  static Status CheckEnd(const std::string& action, Process& server) {
    const ProcessEnd end = *server.Wait();
    const bool expected = action == "kill" ? end.signal == SIGKILL
                                           : end.code == kExitFailed || end.code == kExitLogFailed;
    // The reason stands on stderr a second time: where the server says why it ends.
    const std::string errors = server.Errors();
    const bool said = action == "kill" || errors.find("failpoint") != errors.rfind("failpoint");
    if (expected && said) return {};
    return Failed(
        fmt::format("ended with code {}, signal {}; expected code {} or {} and the reason: {}",
                    end.code, end.signal, kExitLogFailed, kExitFailed, errors));
  }

  const uint64_t hits_;
  HitCounts* counts_;
  SoakReport* report_;
  Random random_;
  std::map<std::string, uint64_t> hit_max_;  // of a failpoint: beyond it, it was not reached
  SoakCluster cluster_;
};

bool Done(const HitCounts& counts, uint64_t hits) {
  return std::all_of(counts.begin(), counts.end(),
                     [hits](const auto& count) { return count.second >= hits; });
}

}  // namespace

SoakReport RunFailpointSoak(uint64_t hits, const SoakClusterOptions& cluster) {
  SoakReport report;
  report.soak = "failpoint";
  HitCounts counts;
  const TimeNs began = RealClock().Now();
  SoakClusterOptions one = cluster;
  // Some rounds more than needed, for hits that come too late.
  const uint64_t seeds_max = 2 + 2 * hits / kRoundsPerSeed;
  while (report.seeds < seeds_max && (counts.empty() || !Done(counts, hits))) {
    ++report.seeds;
    const Status status = FailpointRun(one, hits, &counts, &report).Run();
    Count(status.Prefixed(fmt::format("seed {}, cycle {}", one.seed, report.cycles)), &report);
    if (!status.ok()) break;
    ++one.seed;
  }
  for (const auto& [name, count] : counts) {
    if (count >= hits) continue;
    ++report.findings.wrong;
    report.findings.examples.push_back(fmt::format("{} was reached {} times", name, count));
  }
  for (const std::string& example : report.findings.examples) fmt::print(stderr, "{}\n", example);
  report.more = ", \"hits\": {" + CountsJson(counts) + "}";
  report.elapsed = RealClock().Now() - began;
  return report;
}

}  // namespace strata::soak
