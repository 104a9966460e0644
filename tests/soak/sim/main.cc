// strata-soak-sim [--seeds=N] [--first=S] [--jobs=J]: seeds of the simulation (tests/sim), several
// at a time. Prints what is found, progress, and at the end one JSON line. Exit code 1 when
// anything was found.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "tests/sim/scenario.h"

namespace strata::sim {
namespace {

struct Options {
  uint64_t seeds = 20'000;
  uint64_t first = 1;
  uint64_t jobs = std::max(1U, std::thread::hardware_concurrency());
};

Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    bool known = false;
    for (const auto& [name, value] :
         {std::pair<std::string_view, uint64_t*>{"--seeds=", &options.seeds},
          {"--first=", &options.first},
          {"--jobs=", &options.jobs}}) {
      if (!argument.starts_with(name)) continue;
      const std::string_view text = argument.substr(name.size());
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *value);
      known = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && *value > 0;
    }
    if (!known) {
      return Invalid(
          fmt::format("expected --seeds=N, --first=S or --jobs=J with a number of 1 or "
                      "more, found '{}'",
                      argument));
    }
  }
  return options;
}

class Soak {
 public:
  explicit Soak(const Options& options) : options_(options), began_(RealClock().Now()) {}

  // Takes seeds until there are none; several threads at a time.
  void Work() {
    while (true) {
      const uint64_t index = next_.fetch_add(1);
      if (index >= options_.seeds) return;
      Note(RunSeed(options_.first + index));
    }
  }

  // 1 when anything was found.
  int Report() const {
    fmt::print(
        "{{\"soak\":\"sim\",\"seeds\":{},\"operations\":{},\"acked\":{},\"lost\":{},"
        "\"doubled\":{},\"wrong\":{},\"hangs\":{},\"processes\":{},\"power_losses\":{},"
        "\"checkpoints\":{},"
        "\"seconds\":{:.1f}}}\n",
        done_, total_.operations, total_.acked, total_.findings.lost, total_.findings.doubled,
        total_.findings.wrong, hangs_, total_.processes, total_.power_losses, total_.checkpoints,
        Seconds());
    return total_.findings.none() && hangs_ == 0 ? 0 : 1;
  }

 private:
  double Seconds() const { return static_cast<double>(RealClock().Now() - began_) / kSecond; }

  void Note(const SeedResult& result) {
    constexpr uint64_t kProgressEvery = 500;
    const std::lock_guard lock(mutex_);
    ++done_;
    total_.operations += result.operations;
    total_.acked += result.acked;
    total_.processes += result.processes;
    total_.power_losses += result.power_losses;
    total_.checkpoints += result.checkpoints;
    total_.findings.lost += result.findings.lost;
    total_.findings.doubled += result.findings.doubled;
    total_.findings.wrong += result.findings.wrong;
    hangs_ += result.hung ? 1 : 0;
    if (!result.ok()) fmt::print(stderr, "{}\n", result.Describe());
    if (done_ % kProgressEvery == 0) {
      fmt::print(stderr, "{} of {} seeds in {:.0f} s\n", done_, options_.seeds, Seconds());
    }
  }

  const Options options_;
  const TimeNs began_;
  std::atomic<uint64_t> next_{0};
  std::mutex mutex_;  // for the rest
  SeedResult total_;
  uint64_t done_ = 0;
  uint64_t hangs_ = 0;
};

int Main(int argc, char** argv) {
  const Result<Options> options = ParseOptions(argc, argv);
  if (!options.ok()) {
    fmt::print(stderr, "strata-soak-sim: {}\n", options.status().ToString());
    return ExitCode(options.status());
  }
  // Servers that die while they are to trim are a part of it.
  if (const Status quiet = StartLogging(LogLevel::kError, "sim", ""); !quiet.ok()) {
    fmt::print(stderr, "strata-soak-sim: {}\n", quiet.ToString());
    return ExitCode(quiet);
  }
  Soak soak(*options);
  std::vector<std::jthread> threads;
  for (uint64_t i = 1; i < options->jobs; ++i) {
    Result<std::jthread> thread = StartThread("soak-sim", [&soak] { soak.Work(); });
    if (thread.ok()) threads.push_back(std::move(*thread));
  }
  soak.Work();
  threads.clear();  // joins
  return soak.Report();
}

}  // namespace
}  // namespace strata::sim

int main(int argc, char** argv) { return strata::sim::Main(argc, argv); }
