#include "tests/soak/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/print.h"

namespace strata::soak {

std::string ToJson(const SoakReport& report) {
  return fmt::format(
      R"({{"soak": "{}", "cycles": {}, "seeds": {}, "operations": {}, "acked": {}, "lost": {}, )"
      R"("doubled": {}, "wrong": {}, "hangs": {}, "restarts": {}, "checkpoints": {}, )"
      R"("sessions_lost": {}{}, )"
      R"("seconds": {:.1f}}})",
      report.soak, report.cycles, report.seeds, report.operations, report.acked,
      report.findings.lost, report.findings.doubled, report.findings.wrong, report.hangs,
      report.restarts, report.checkpoints, report.sessions_lost, report.more,
      static_cast<double>(report.elapsed) / kSecond);
}

std::string CountsJson(const std::map<std::string, uint64_t>& counts) {
  std::string members;
  for (const auto& [name, count] : counts) {
    members += fmt::format("{}\"{}\": {}", members.empty() ? "" : ", ", name, count);
  }
  return members;
}

void Count(const Status& status, SoakReport* report) {
  if (status.ok()) return;
  PrintStderr("{}\n", status.ToString());
  ++(status.code() == StatusCode::kDeadlineExceeded ? report->hangs : report->findings.wrong);
}

SoakReport RunSeeds(const std::string& soak, uint64_t first_seed, uint64_t cycles,
                    const SeedRun& run) {
  constexpr uint64_t kCyclesPerSeed = 100;
  SoakReport report;
  report.soak = soak;
  const TimeNs began = RealClock().Now();
  for (uint64_t seed = first_seed; report.cycles < cycles; ++seed) {
    ++report.seeds;
    const Status status = run(seed, std::min(kCyclesPerSeed, cycles - report.cycles), &report);
    Count(status.Prefixed(fmt::format("seed {}, cycle {}", seed, report.cycles)), &report);
    if (!status.ok()) break;
  }
  for (const std::string& example : report.findings.examples) PrintStderr("{}\n", example);
  report.elapsed = RealClock().Now() - began;
  return report;
}

}  // namespace strata::soak
