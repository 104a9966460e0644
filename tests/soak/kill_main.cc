// strata-soak-kill: kills servers or clients at random moments under load, and proves from outside
// that nothing acknowledged was lost, applied twice, or is wrong. The last line is JSON; exit code
// 1 when anything was found.
#include <fmt/format.h>

#include <cstdio>

#include "base/failpoint.h"
#include "base/settings.h"
#include "tests/soak/failpoint_soak.h"
#include "tests/soak/kill_soak.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    {.key = "kind",
     .type = SettingType::kChoice,
     .default_value = "server",
     .help = "What is killed.",
     .choices = "server|client|failpoint",
     .flag = "kind",
     .programs = 1},
    {.key = "cycles",
     .type = SettingType::kInt,
     .default_value = "200",
     .help = "Kills; with --kind=failpoint of each failpoint, and as many failed calls.",
     .min = 1,
     .flag = "cycles",
     .programs = 1},
    {.key = "seed",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "The first seed; a new cluster with the next seed every 100 cycles.",
     .min = 0,
     .flag = "seed",
     .programs = 1},
    {.key = "servers",
     .type = SettingType::kInt,
     .default_value = "2",
     .help = "Servers.",
     .min = 1,
     .max = 8,
     .flag = "servers",
     .programs = 1},
    {.key = "clients",
     .type = SettingType::kInt,
     .default_value = "3",
     .help = "Clients that push.",
     .min = 1,
     .max = kClientsMax,
     .flag = "clients",
     .programs = 1},
    {.key = "data",
     .type = SettingType::kBool,
     .default_value = "true",
     .help = "Servers have data folders. Without, the soak must find losses.",
     .flag = "data",
     .programs = 1},
    {.key = "patience",
     .type = SettingType::kDuration,
     .default_value = "10s",
     .help = "Whatever takes longer is a hang.",
     .min = 1e9,
     .flag = "patience",
     .programs = 1},
};
constexpr SettingsTable kTable = {.title = "strata-soak-kill", .settings = kRows, .repeated = {}};

Result<int> Run(int argc, char** argv) {
  Settings settings(kTable);
  const FlagTarget target{&kTable, &settings, nullptr};
  STRATA_ASSIGN(const CommandLine line, ParseCommandLine(argc, argv, 1, {&target, 1}));
  if (line.help) {
    const SettingsTable* const tables[] = {&kTable};
    fmt::print("{}",
               HelpText("strata-soak-kill [--kind=server|client|failpoint] [--cycles=N] [flags]",
                        "Kills processes under load and looks for acknowledged writes that "
                        "were lost, doubled or changed.",
                        1, tables));
    return 0;
  }
  const KillSoakOptions options{
      .kind = settings.Text("kind"),
      .cycles = static_cast<uint64_t>(settings.Int("cycles")),
      .cluster = {.servers = static_cast<uint32_t>(settings.Int("servers")),
                  .clients = static_cast<uint32_t>(settings.Int("clients")),
                  .seed = static_cast<uint64_t>(settings.Int("seed")),
                  .data = settings.Bool("data"),
                  .patience = settings.Duration("patience")}};
  const bool failpoints = options.kind == "failpoint";
  if (failpoints && !kFailpointsCompiledIn) {
    return Invalid("--kind=failpoint needs a build with failpoints (cmake --preset failpoints)");
  }
  const SoakReport report =
      failpoints ? RunFailpointSoak(options.cycles, options.cluster) : RunKillSoak(options);
  fmt::print("{}\n", ToJson(report));
  return report.clean() ? 0 : 1;
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  const strata::Result<int> code = strata::soak::Run(argc, argv);
  if (code.ok()) return *code;
  fmt::print(stderr, "strata-soak-kill: {}\n", code.status().ToString());
  return strata::ExitCode(code.status());
}
