#include "tests/soak/flip_soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "base/print.h"
#include "base/random.h"
#include "tests/soak/file_faults.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr uint64_t kFaultsPerSeed = 100;
constexpr uint64_t kProgressEvery = 50;
constexpr TimeNs kLoad = 100 * kMillisecond;
constexpr uint64_t kCheckpoints = 3;
constexpr int kStarts = 3;  // of the server under load, so that its logs have several segments

enum class Outcome : uint8_t { kRefused, kHarmless, kCut, kBad };
using OutcomeCounts = std::map<std::string, uint64_t>;

// One load, one pristine folder, many faults.
class FlipRun {
 public:
  FlipRun(const FlipSoakOptions& options, OutcomeCounts* counts, SoakReport* report)
      : counts_(counts),
        report_(report),
        random_(options.seed),
        cluster_({.servers = 1,
                  .lanes = 2,
                  .clients = 2,
                  .seed = options.seed,
                  .patience = options.patience}) {}

  Status Run(uint64_t faults) {
    STRATA_TRY(MakePristine());
    for (uint64_t i = 0; i < faults; ++i) {
      STRATA_TRY(OneFault());
      if (++report_->cycles % kProgressEvery == 0) {
        PrintStderr("{} faults: {}\n", report_->cycles, CountsJson(*counts_));
      }
    }
    report_->operations += cluster_.oracle().submitted();
    report_->acked += cluster_.oracle().acked();
    return {};
  }

 private:
  Status MakePristine() {
    STRATA_TRY(cluster_.Start());
    for (uint32_t client = 0; client < cluster_.options().clients; ++client) {
      cluster_.StartClient(client);
    }
    for (int start = 0; start < kStarts; ++start) {
      if (start > 0) {
        cluster_.KillServer(0);
        cluster_.StartServer(0);
        STRATA_TRY(cluster_.AwaitReady(0));
      }
      STRATA_TRY(cluster_.AwaitProgress());
      WaitUntil([] { return false; }, kLoad);
    }
    STRATA_TRY(TakeCheckpoints());
    STRATA_TRY(cluster_.AwaitProgress());  // what only the log knows
    STRATA_TRY(cluster_.Pause());
    for (uint32_t client = 0; client < cluster_.options().clients; ++client) {
      cluster_.KillClient(client);
    }
    Findings findings;
    STRATA_TRY(cluster_.Verify(true, &findings));
    if (!findings.none()) return Failed("wrong before any fault: " + findings.examples.front());
    cluster_.KillServer(0);
    pristine_ = cluster_.File("pristine");
    std::filesystem::rename(cluster_.StateFolder(), pristine_);
    return {};
  }

  Status TakeCheckpoints() {
    cluster_.StartCheckpoints();
    const bool taken = WaitUntil([&] { return cluster_.checkpoints() >= kCheckpoints; },
                                 cluster_.options().patience);
    cluster_.KillCheckpoints();
    report_->checkpoints += cluster_.checkpoints();
    return taken ? Status() : DeadlineExceeded("waited for checkpoints");
  }

  Status OneFault() {
    const std::string folder = cluster_.StateFolder();
    Fault fault;
    while (fault.files.empty()) {
      std::filesystem::remove_all(folder);
      std::filesystem::copy(pristine_, folder, std::filesystem::copy_options::recursive);
      fault = DamageFiles(folder, random_);
    }
    cluster_.StartServer(0);
    const Status ready = cluster_.AwaitReady(0);
    const Outcome outcome = ready.ok() ? JudgeService(fault) : JudgeRefusal(fault, ready);
    constexpr const char* kNames[] = {"refused", "harmless", "cut", "bad"};
    ++(*counts_)[kNames[static_cast<size_t>(outcome)]];
    cluster_.KillServer(0);
    return {};
  }

  Outcome Bad(const Fault& fault, const std::string& what) {
    ++report_->findings.wrong;
    report_->findings.examples.push_back(fmt::format("{}: {}", fault.text, what));
    PrintStderr("{}\n", report_->findings.examples.back());
    return Outcome::kBad;
  }

  // A file that is not there any more is told by its folder and its neighbours.
  bool Names(const Fault& fault) {
    const std::string said = cluster_.server(0).Errors();
    return std::any_of(fault.files.begin(), fault.files.end(), [&](const std::string& file) {
      const std::filesystem::path path(file);
      const bool gone = fault.kind == FaultKind::kRemove;
      return said.find((gone ? path.parent_path() : path.filename()).string()) != std::string::npos;
    });
  }

  Outcome JudgeRefusal(const Fault& fault, const Status& status) {
    if (status.code() == StatusCode::kDeadlineExceeded) {
      ++report_->hangs;
      return Bad(fault, status.message());
    }
    const ProcessEnd end = *cluster_.server(0).Wait();
    if (end.signal != 0 || end.code == kBug) return Bad(fault, status.message());
    return Names(fault) ? Outcome::kRefused
                        : Bad(fault, "refused without naming the file: " + status.message());
  }

  Outcome JudgeService(const Fault& fault) {
    Findings findings;
    const Status status = cluster_.VerifyApart(&findings);
    if (!status.ok()) return Bad(fault, status.ToString());
    if (findings.none()) return Outcome::kHarmless;
    const bool said =
        cluster_.server(0).Errors().find("were cut") != std::string::npos && Names(fault);
    if ((said || fault.between_records) && findings.doubled == 0 && findings.wrong == 0)
      return Outcome::kCut;
    return Bad(fault, fmt::format("served: lost {}, doubled {}, wrong {}: {}\n  {}", findings.lost,
                                  findings.doubled, findings.wrong, findings.examples.front(),
                                  cluster_.server(0).Errors()));
  }

  static constexpr int kBug = 70;

  OutcomeCounts* counts_;
  SoakReport* report_;
  Random random_;
  SoakCluster cluster_;
  std::string pristine_;
};

}  // namespace

SoakReport RunFlipSoak(const FlipSoakOptions& options) {
  SoakReport report;
  report.soak = "flip";
  OutcomeCounts counts;
  const TimeNs began = RealClock().Now();
  FlipSoakOptions one = options;
  while (report.cycles < options.faults) {
    ++report.seeds;
    const Status status = FlipRun(one, &counts, &report)
                              .Run(std::min(kFaultsPerSeed, options.faults - report.cycles));
    Count(status.Prefixed(fmt::format("seed {}, fault {}", one.seed, report.cycles)), &report);
    if (!status.ok()) break;
    ++one.seed;
  }
  report.more = ", \"outcomes\": {" + CountsJson(counts) + "}";
  report.elapsed = RealClock().Now() - began;
  return report;
}

}  // namespace strata::soak
