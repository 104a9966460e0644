#include "tests/soak/failpoint_soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "base/failpoint.h"
#include "base/print.h"
#include "base/random.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr uint64_t kProgressEvery = 50;
constexpr uint64_t kRoundsPerSeed = 4;  // over all failpoints
constexpr uint64_t kCompareEvery = 3;   // deaths one after the other, then a comparison
// A failpoint counts as missed after so much load. Each miss doubles the time: a checkpoint under
// sanitizers on a loaded machine takes longer than the first.
constexpr TimeNs kReachWithin = 3 * kSecond / 2;
constexpr uint64_t kDoublingsMax = 4;
constexpr uint64_t kHitMax = 12;    // fires at a random one of the first hits
constexpr int kExitFailed = 1;      // at start: what it says is checked
constexpr int kExitLogFailed = 70;  // in service: nothing can be promised any more
constexpr const char* kActions[] = {"kill", "error"};
// The folder of checkpoints is kept by server 0.
constexpr std::string_view kOfServer0[] = {"checkpoint.commit", "checkpoint.committed",
                                           "checkpoint.remove"};

// What is known of the failpoints, over all seeds.
struct Tally {
  std::map<std::string, uint64_t> counts;  // "log.write=kill": how often it fired
  // Up to which hit a failpoint may be asked to fire. What happens at a start is reached once or
  // twice, what happens under load any number of times: a miss lowers it.
  std::map<std::string_view, uint64_t> hit_max;
  std::map<std::string, uint64_t> misses;  // as counts
};

// One cluster, one seed.
class FailpointRun {
 public:
  FailpointRun(const SoakClusterOptions& options, uint64_t hits, Tally* tally, SoakReport* report)
      : hits_(hits), tally_(tally), report_(report), random_(options.seed), cluster_(options) {}

  Status Run() {
    STRATA_TRY(cluster_.Start());
    for (uint32_t client = 0; client < cluster_.options().clients; ++client) {
      cluster_.StartClient(client);
    }
    cluster_.StartCheckpoints();
    STRATA_TRY(cluster_.AwaitProgress());
    for (uint64_t round = 0; round < kRoundsPerSeed; ++round) {
      for (const std::string_view name : KnownFailpoints()) {
        for (const std::string_view action : kActions) STRATA_TRY(Cycle(name, action));
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
  Status Cycle(std::string_view name, std::string_view action) {
    const std::string armed = fmt::format("{}={}", name, action);
    uint64_t& count = tally_->counts[armed];
    if (count >= hits_) return {};
    STRATA_TRY(Strike(name, armed, &count).Prefixed(armed));
    if (++report_->cycles % kProgressEvery == 0) SayProgress();
    if (report_->cycles % kCompareEvery != 0) return {};
    return Compare(false).Prefixed("behind " + armed);
  }

  // Starts a server armed so, and kills it when the failpoint has fired, or will not.
  Status Strike(std::string_view name, const std::string& armed, uint64_t* count) {
    const bool of_server_0 = std::ranges::count(kOfServer0, name) > 0;
    const auto rank =
        static_cast<uint32_t>(of_server_0 ? 0 : random_.Below(cluster_.options().servers));
    cluster_.KillServer(rank);
    StartDead(rank);
    uint64_t& hit_max = tally_->hit_max.try_emplace(name, kHitMax).first->second;
    const uint64_t hit = 1 + random_.Below(hit_max);
    cluster_.StartServer(rank, {{"STRATA_FAILPOINTS", fmt::format("{}@{}", armed, hit)}});
    ++report_->restarts;
    Process& server = cluster_.server(rank);
    // Through the wait for text, since a server that dies says its last words first.
    const std::string mark = fmt::format("failpoint {}: {}", name, armed.substr(name.size() + 1));
    uint64_t& misses = tally_->misses[armed];
    const bool reached =
        server.WaitForErrors(mark, kReachWithin << std::min(misses, kDoublingsMax));
    misses += reached ? 0 : 1;
    hit_max = reached ? std::min(hit_max + 1, kHitMax) : 1 + (hit - 1) / 3;
    // A call that failed ends the server, or the server goes on without it.
    if (reached) WaitUntil([&] { return !server.Running(); }, kSecond / 10);
    if (!server.Running()) STRATA_TRY(CheckEnd(armed, server));
    cluster_.KillServer(rank);
    *count += reached ? 1 : 0;
    return {};
  }

  // Every server that is not running, but one.
  void StartDead(uint32_t but) {
    for (uint32_t rank = 0; rank < cluster_.options().servers; ++rank) {
      if (rank == but || cluster_.server(rank).Running()) continue;
      cluster_.StartServer(rank);
      ++report_->restarts;
    }
  }

  Status Compare(bool all) {
    const uint32_t servers = cluster_.options().servers;
    StartDead(servers);
    for (uint32_t rank = 0; rank < servers; ++rank) STRATA_TRY(cluster_.AwaitReady(rank));
    STRATA_TRY(cluster_.AwaitProgress());
    STRATA_TRY(cluster_.Pause());
    STRATA_TRY(cluster_.Verify(all, &report_->findings));
    cluster_.Resume();
    return {};
  }

  static Status CheckEnd(const std::string& armed, Process& server) {
    const ProcessEnd end = *server.Wait();
    const bool kill = armed.ends_with("=kill");
    const bool expected =
        kill ? end.signal == SIGKILL : end.code == kExitFailed || end.code == kExitLogFailed;
    // The reason stands on stderr a second time: where the server says why it ends.
    const std::string errors = server.Errors();
    const bool said = kill || errors.find("failpoint") != errors.rfind("failpoint");
    if (expected && said) return {};
    return Failed(
        fmt::format("ended with code {}, signal {}; expected code {} or {} and the reason: {}",
                    end.code, end.signal, kExitLogFailed, kExitFailed, errors));
  }

  void SayProgress() const {
    const Findings& found = report_->findings;
    PrintStderr("{} cycles: lost {}, doubled {}, wrong {}; {}\n", report_->cycles, found.lost,
                found.doubled, found.wrong, CountsJson(tally_->counts));
  }

  const uint64_t hits_;
  Tally* tally_;
  SoakReport* report_;
  Random random_;
  SoakCluster cluster_;
};

bool Done(const std::map<std::string, uint64_t>& counts, uint64_t hits) {
  return std::all_of(counts.begin(), counts.end(),
                     [hits](const auto& count) { return count.second >= hits; });
}

}  // namespace

SoakReport RunFailpointSoak(uint64_t hits, const SoakClusterOptions& cluster) {
  SoakReport report;
  report.soak = "failpoint";
  Tally tally;
  const TimeNs began = RealClock().Now();
  SoakClusterOptions one = cluster;
  // Some rounds more than needed, for hits that come too late.
  const uint64_t seeds_max = 2 + 2 * hits / kRoundsPerSeed;
  while (report.seeds < seeds_max && (tally.counts.empty() || !Done(tally.counts, hits))) {
    ++report.seeds;
    const Status status = FailpointRun(one, hits, &tally, &report).Run();
    Count(status.Prefixed(fmt::format("seed {}, cycle {}", one.seed, report.cycles)), &report);
    if (!status.ok()) break;
    ++one.seed;
  }
  for (const auto& [name, count] : tally.counts) {
    if (count >= hits) continue;
    ++report.findings.wrong;
    report.findings.examples.push_back(fmt::format("{} was reached {} times", name, count));
  }
  for (const std::string& example : report.findings.examples) PrintStderr("{}\n", example);
  report.more = ", \"hits\": {" + CountsJson(tally.counts) + "}";
  report.elapsed = RealClock().Now() - began;
  return report;
}

}  // namespace strata::soak
