#include "tests/soak/trees/trees_soak.h"

#include <fmt/format.h>

#include "base/print.h"
#include "tests/soak/trees/case_check.h"
#include "tests/soak/trees/tree_case.h"
#include "tests/support/temp_folder.h"

namespace strata::soak {
namespace {

constexpr size_t kExamplesMax = 20;

std::string Described(const TreeCase& tree_case) {
  return fmt::format("{}{}{}{}, {} rows, world {}:\n{}", tree_case.format,
                     tree_case.is_binned ? ", saved as bins" : "",
                     tree_case.goes_on ? ", goes on" : "",
                     tree_case.own_files ? ", files of their own" : "",
                     tree_case.train.labels.size(), tree_case.world, tree_case.conf);
}

}  // namespace

SoakReport RunTreesSoak(const TreesSoakOptions& options) {
  SoakReport report;
  report.soak = "trees";
  const TimeNs began = RealClock().Now();
  for (; report.cycles < options.cases; ++report.cycles, ++report.seeds) {
    const uint64_t seed = options.seed + report.cycles;
    const TreeCase tree_case = DrawTreeCase(seed, options.device);
    const TempFolder folder;
    const CaseOutcome outcome = CheckTreeCase(tree_case, folder.path());
    report.operations += outcome.compared;
    if (outcome.differences.empty()) continue;
    report.findings.wrong += outcome.differences.size();
    if (report.findings.examples.size() >= kExamplesMax) continue;
    report.findings.examples.push_back(
        fmt::format("seed {}: {}\n{}", seed, outcome.differences[0], Described(tree_case)));
  }
  for (const std::string& example : report.findings.examples) PrintStderr("{}\n", example);
  report.elapsed = RealClock().Now() - began;
  return report;
}

}  // namespace strata::soak
