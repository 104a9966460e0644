#include "tests/soak/report.h"

#include <fmt/format.h>

#include <cstdio>

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
  fmt::print(stderr, "{}\n", status.ToString());
  ++(status.code() == StatusCode::kDeadlineExceeded ? report->hangs : report->findings.wrong);
}

}  // namespace strata::soak
