// strata-soak-flip: damages the files of a stopped server and looks at what it makes of them. The
// last line is JSON; exit code 1 when it served something wrong, crashed, or refused without naming
// the file.
#include <fmt/format.h>

#include <cstdio>

#include "base/settings.h"
#include "tests/soak/flip_soak.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    {.key = "cycles",
     .type = SettingType::kInt,
     .default_value = "500",
     .help = "Faults.",
     .min = 1,
     .flag = "cycles",
     .programs = 1},
    {.key = "seed",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "The first seed; a new load with the next seed every 100 faults.",
     .min = 0,
     .flag = "seed",
     .programs = 1},
    {.key = "patience",
     .type = SettingType::kDuration,
     .default_value = "10s",
     .help = "Whatever takes longer is a hang.",
     .min = 1e9,
     .flag = "patience",
     .programs = 1},
};
constexpr SettingsTable kTable = {.title = "strata-soak-flip", .settings = kRows, .repeated = {}};

Result<int> Run(int argc, char** argv) {
  Settings settings(kTable);
  const FlagTarget target{&kTable, &settings, nullptr};
  STRATA_ASSIGN(const CommandLine line, ParseCommandLine(argc, argv, 1, {&target, 1}));
  if (line.help) {
    const SettingsTable* const tables[] = {&kTable};
    fmt::print("{}", HelpText("strata-soak-flip [--cycles=N] [flags]",
                              "Damages the files of a stopped server, then starts it.", 1, tables));
    return 0;
  }
  const SoakReport report = RunFlipSoak({.faults = static_cast<uint64_t>(settings.Int("cycles")),
                                         .seed = static_cast<uint64_t>(settings.Int("seed")),
                                         .patience = settings.Duration("patience")});
  fmt::print("{}\n", ToJson(report));
  return report.clean() ? 0 : 1;
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  const strata::Result<int> code = strata::soak::Run(argc, argv);
  if (code.ok()) return *code;
  fmt::print(stderr, "strata-soak-flip: {}\n", code.status().ToString());
  return strata::ExitCode(code.status());
}
