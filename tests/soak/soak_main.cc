#include "tests/soak/soak_main.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/print.h"

namespace strata::soak {
namespace {

Result<int> Run(int argc, char** argv, const SoakProgram& program) {
  Settings settings(*program.table);
  const FlagTarget target{program.table, &settings, nullptr};
  STRATA_ASSIGN(const CommandLine line, ParseCommandLine(argc, argv, 1, {&target, 1}));
  if (line.help) {
    const SettingsTable* const tables[] = {program.table};
    const std::string usage = fmt::format("{} {}", program.table->title, program.usage);
    STRATA_TRY(WriteStdout(HelpText(usage, program.what, 1, tables)));
    return 0;
  }
  if (!line.positional.empty()) {
    return Invalid(fmt::format("expected flags only, found '{}'", line.positional.front()));
  }
  // What clients in this process say of servers that are killed would hide how far it is.
  STRATA_TRY(StartLogging(LogLevel::kError, "", ""));
  STRATA_ASSIGN(const SoakReport report, program.run(settings));
  STRATA_TRY(PrintStdout("{}\n", ToJson(report)));
  return report.clean() ? 0 : 1;
}

}  // namespace

int SoakMain(int argc, char** argv, const SoakProgram& program) {
  const Result<int> code = Run(argc, argv, program);
  if (code.ok()) return *code;
  PrintStderr("{}: {}\n", program.table->title, code.status().ToString());
  return ExitCode(code.status());
}

}  // namespace strata::soak
