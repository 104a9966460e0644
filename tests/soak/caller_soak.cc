#include "tests/soak/caller_soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/print.h"
#include "tests/soak/caller_kills.h"

namespace strata::soak {
namespace {

constexpr uint64_t kProgressEvery = 25;
constexpr decltype(&MakeLoadedKills) kAll[] = {&MakeLoadedKills, &MakeRestoreKills, &MakeJobKills};
constexpr uint64_t kKinds = 9;

class CallerSoak {
 public:
  explicit CallerSoak(const CallerSoakOptions& options)
      : options_(options), cycles_(kKinds, options.cycles / kKinds) {
    for (uint64_t kind = 0; kind < options.cycles % kKinds; ++kind) ++cycles_[kind];
  }

  SoakReport Run() {
    const TimeNs began = RealClock().Now();
    report_.soak = "client";
    for (const auto make : kAll) {
      ++report_.seeds;
      const Status status = RunOne(*make({.seed = options_.seed,
                                          .patience = options_.patience,
                                          .report = &report_,
                                          .longest = &longest_}));
      Count(status.Prefixed(fmt::format("seed {}, cycle {}", options_.seed, report_.cycles)),
            &report_);
    }
    for (const std::string& example : report_.findings.examples) {
      PrintStderr("{}\n", example);
    }
    PrintStderr("the longest wait: {:.3f} s, {}\n", static_cast<double>(longest_.time) / kSecond,
                longest_.what);
    report_.more = fmt::format(
        R"(, "kills": {{{}}}, "midway": {{{}}}, "longest_wait_seconds": {:.3f})",
        CountsJson(kills_), CountsJson(midway_), static_cast<double>(longest_.time) / kSecond);
    report_.elapsed = RealClock().Now() - began;
    return std::move(report_);
  }

 private:
  // Round about its kinds, each as often as it has its share.
  Status RunOne(CallerKills& kills) {
    const auto kinds = kills.kinds();
    STRATA_CHECK(first_kind_ + kinds.size() <= kKinds);
    const std::span<const uint64_t> share = std::span(cycles_).subspan(first_kind_, kinds.size());
    first_kind_ += kinds.size();
    const uint64_t rounds = *std::ranges::max_element(share);
    Status status = rounds > 0 ? kills.Start() : Status();
    for (uint64_t round = 0; round < rounds && status.ok(); ++round) {
      for (size_t i = 0; i < kinds.size() && status.ok(); ++i) {
        if (round < share[i]) status = RunCycle(kills, kinds[i]).Prefixed(std::string(kinds[i]));
      }
    }
    if (rounds > 0) kills.Finish(&report_);
    return status;
  }

  Status RunCycle(CallerKills& kills, std::string_view kind) {
    STRATA_ASSIGN(const bool midway, kills.Cycle(kind));
    ++kills_[std::string(kind)];
    midway_[std::string(kind)] += midway ? 1 : 0;
    ++report_.restarts;
    ++report_.checkpoints;
    if (++report_.cycles % kProgressEvery == 0) {
      PrintStderr("{} kills, {} in the middle: lost {}, doubled {}, wrong {}\n", CountsJson(kills_),
                  CountsJson(midway_), report_.findings.lost, report_.findings.doubled,
                  report_.findings.wrong);
    }
    return {};
  }

  const CallerSoakOptions options_;
  std::vector<uint64_t> cycles_;  // of each kind
  size_t first_kind_ = 0;         // of the next one of kAll
  SoakReport report_;
  LongestWait longest_;
  std::map<std::string, uint64_t> kills_;
  std::map<std::string, uint64_t> midway_;
};

}  // namespace

SoakReport RunCallerSoak(const CallerSoakOptions& options) { return CallerSoak(options).Run(); }

}  // namespace strata::soak
