// strata-soak-sim: seeds of the simulation (tests/sim), several at a time. Prints what is found,
// progress, and at the end one JSON line. Exit code 1 when anything was found.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/print.h"
#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "tests/sim/scenario.h"
#include "tests/soak/soak_main.h"

namespace strata::sim {
namespace {

constexpr Setting kRows[] = {
    soak::CountFlag("seeds", "20000", "Seeds.", 1),
    soak::CountFlag("first", "1", "The first of them."),
    soak::CountFlag("jobs", "0", "Seeds at a time; 0: as many as there are cores.", 0, 1024),
};
constexpr SettingsTable kTable = {.title = "strata-soak-sim", .settings = kRows, .repeated = {}};

class Soak {
 public:
  Soak(uint64_t seeds, uint64_t first) : seeds_(seeds), first_(first), began_(RealClock().Now()) {}

  // Takes seeds until there are none; several threads at a time.
  void Work() {
    while (true) {
      const uint64_t index = next_.fetch_add(1);
      if (index >= seeds_) return;
      Note(RunSeed(first_ + index));
    }
  }

  soak::SoakReport Report() const {
    const MutexLock lock(mutex_);
    soak::SoakReport report;
    report.soak = "sim";
    report.cycles = report.seeds = done_;
    report.operations = total_.operations;
    report.acked = total_.acked;
    report.restarts = total_.processes;
    report.checkpoints = total_.checkpoints;
    report.hangs = hangs_;
    report.findings.lost = total_.findings.lost;
    report.findings.doubled = total_.findings.doubled;
    report.findings.wrong = total_.findings.wrong;
    report.more = fmt::format(
        ", \"power_losses\": {}, \"steps\": {}, \"sessions_expired\": {}, \"operations_min\": {}, "
        "\"operations_median\": {}",
        total_.power_losses, total_.steps, total_.expired, OperationsAt(0),
        OperationsAt(operations_.size() / 2));
    report.elapsed = RealClock().Now() - began_;
    return report;
  }

 private:
  // Of all seeds, sorted.
  uint64_t OperationsAt(size_t index) const STRATA_REQUIRES(mutex_) {
    std::vector<uint64_t> sorted = operations_;
    std::ranges::sort(sorted);
    return index < sorted.size() ? sorted[index] : 0;
  }

  double Seconds() const { return static_cast<double>(RealClock().Now() - began_) / kSecond; }

  void Note(const SeedResult& result) {
    constexpr uint64_t kProgressEvery = 500;
    const MutexLock lock(mutex_);
    ++done_;
    total_.operations += result.operations;
    total_.acked += result.acked;
    total_.processes += result.processes;
    total_.power_losses += result.power_losses;
    total_.steps += result.steps;
    total_.expired += result.expired;
    operations_.push_back(result.operations);
    total_.checkpoints += result.checkpoints;
    total_.findings.lost += result.findings.lost;
    total_.findings.doubled += result.findings.doubled;
    total_.findings.wrong += result.findings.wrong;
    hangs_ += result.hung ? 1 : 0;
    if (!result.ok()) {
      const std::string again =
          fmt::format("./dev soak --only=sim --first={} --seeds=1", result.seed);
      PrintStderr("{}\n", result.Describe(again));
    }
    if (done_ % kProgressEvery == 0) {
      PrintStderr("{} of {} seeds in {:.0f} s\n", done_, seeds_, Seconds());
    }
  }

  const uint64_t seeds_;
  const uint64_t first_;
  const TimeNs began_;
  std::atomic<uint64_t> next_{0};
  mutable Mutex mutex_;
  SeedResult total_ STRATA_GUARDED_BY(mutex_);
  std::vector<uint64_t> operations_ STRATA_GUARDED_BY(mutex_);  // of each seed
  uint64_t done_ STRATA_GUARDED_BY(mutex_) = 0;
  uint64_t hangs_ STRATA_GUARDED_BY(mutex_) = 0;
};

Result<soak::SoakReport> Run(const Settings& settings) {
  Soak soak(static_cast<uint64_t>(settings.Int("seeds")),
            static_cast<uint64_t>(settings.Int("first")));
  auto jobs = static_cast<uint64_t>(settings.Int("jobs"));
  if (jobs == 0) jobs = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (uint64_t i = 1; i < jobs; ++i) {
    STRATA_ASSIGN(std::jthread thread, StartThread("soak-sim", [&soak] { soak.Work(); }));
    threads.push_back(std::move(thread));
  }
  soak.Work();
  threads.clear();  // joins
  return soak.Report();
}

}  // namespace
}  // namespace strata::sim

int main(int argc, char** argv) {
  return strata::soak::SoakMain(argc, argv,
                                {.table = &strata::sim::kTable,
                                 .usage = "[--seeds=N] [--first=S] [--jobs=J]",
                                 .what = "Runs seeds of the simulation, several at a time.",
                                 .run = &strata::sim::Run});
}
