// strata-soak-kill: kills servers at random moments under load, or at failpoints, and proves from
// outside that nothing acknowledged was lost, applied twice, or is wrong. The last line is JSON;
// exit code 1 when anything was found.
#include <fmt/format.h>

#include "base/failpoint.h"
#include "kernels/core/device_choice.h"
#include "tests/soak/failpoint_soak.h"
#include "tests/soak/item_soak.h"
#include "tests/soak/kill_soak.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    {.key = "kind",
     .type = SettingType::kChoice,
     .default_value = "server",
     .help = "Servers are killed at random moments, or at failpoints; items: at random moments, "
             "under changes of a collection and searches.",
     .choices = "server|failpoint|items",
     .flag = "kind",
     .programs = 1},
    CountFlag("cycles", "200",
              "Kills; with --kind=failpoint of each failpoint, and as many failed calls.", 1),
    CountFlag("seed", "1", "The first seed; a new cluster with the next seed every 100 cycles."),
    CountFlag("servers", "2", "Servers.", 1, 8),
    CountFlag("clients", "3", "Clients that push.", 1, kClientsMax),
    CountFlag("copies", "1", "items: servers that have each document.", 1, 8),
    {.key = "data",
     .type = SettingType::kBool,
     .default_value = "true",
     .help = "Servers have data folders. Without, the soak must find losses.",
     .flag = "data",
     .programs = 1},
    {.key = "device",
     .default_value = "cpu",
     .help = "Where servers keep their rows, as strata-server's --device; 2 GiB of a GPU each.",
     .flag = "device",
     .programs = 1},
    kPatienceFlag,
};
constexpr SettingsTable kTable = {.title = "strata-soak-kill", .settings = kRows, .repeated = {}};

// Lines of the servers' section.
Result<std::string> DeviceSettings(const std::string& device) {
  STRATA_ASSIGN(const DeviceChoice choice, ParseDevice(device));
  if (choice.kind == DeviceKind::kCpu) return std::string();
  return fmt::format("device = \"{}\"\ngpu_memory = \"2GiB\"", device);
}

Result<SoakReport> Run(const Settings& settings) {
  STRATA_ASSIGN(const std::string device, DeviceSettings(settings.Text("device")));
  const auto cycles = static_cast<uint64_t>(settings.Int("cycles"));
  const SoakClusterOptions cluster{.servers = static_cast<uint32_t>(settings.Int("servers")),
                                   .clients = static_cast<uint32_t>(settings.Int("clients")),
                                   .seed = static_cast<uint64_t>(settings.Int("seed")),
                                   .copies = static_cast<uint32_t>(settings.Int("copies")),
                                   .data = settings.Bool("data"),
                                   .settings = device,
                                   .patience = settings.Duration("patience")};
  if (settings.Text("kind") == "server") return RunKillSoak(cycles, cluster);
  if (settings.Text("kind") == "items") return RunItemSoak(cycles, cluster);
  if (kFailpointsCompiledIn) return RunFailpointSoak(cycles, cluster);
  return Invalid("--kind=failpoint needs a build with failpoints (./dev build --failpoints)");
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(
      argc, argv,
      {.table = &strata::soak::kTable,
       .usage = "[--kind=server|failpoint|items] [--cycles=N] [flags]",
       .what = "Kills servers under load and looks for acknowledged writes that were lost, doubled "
               "or changed.",
       .run = &strata::soak::Run});
}
