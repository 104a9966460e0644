// strata-soak-client: one client of a soak as a process of its own, so that it can be killed. The
// harness starts it.
#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/print.h"
#include "base/settings/settings.h"
#include "ps/client/remote_checkpointer.h"
#include "ps/client/remote_store.h"
#include "tests/soak/checkpoint_loop.h"
#include "tests/soak/soak_client.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    {.key = "servers",
     .type = SettingType::kTextList,
     .help = "Address of each server.",
     .flag = "servers",
     .programs = 1},
    {.key = "lanes",
     .type = SettingType::kInt,
     .default_value = "2",
     .help = "Lanes of each server.",
     .min = 1,
     .max = kLanesMax,
     .flag = "lanes",
     .programs = 1},
    {.key = "cluster", .help = "Name of the cluster.", .flag = "cluster", .programs = 1},
    {.key = "client",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Its number.",
     .min = 0,
     .max = kClientsMax - 1,
     .flag = "client",
     .programs = 1},
    {.key = "seed",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Of the load.",
     .min = 0,
     .flag = "seed",
     .programs = 1},
    {.key = "session",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Number of its first connection.",
     .min = 1,
     .flag = "session",
     .programs = 1},
    {.key = "first_op",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "The operation that it begins with.",
     .min = 0,
     .flag = "first_op",
     .programs = 1},
    {.key = "synced",
     .type = SettingType::kBool,
     .default_value = "true",
     .help = "Ask for ack level synced now and then.",
     .flag = "synced",
     .programs = 1},
    {.key = "checkpoints",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Take checkpoints instead of pushing.",
     .flag = "checkpoints",
     .programs = 1},
    {.key = "restore",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Restore this checkpoint instead of pushing; 0: none.",
     .min = 0,
     .max = UINT32_MAX,
     .flag = "restore",
     .programs = 1},
    {.key = "history", .help = "File to write to.", .flag = "history", .programs = 1},
    {.key = "page", .help = "File shared with the harness.", .flag = "page", .programs = 1},
};
constexpr TimeNs kRestoreTimeout = 30 * kSecond;
constexpr SettingsTable kTable = {.title = "strata-soak-client", .settings = kRows, .repeated = {}};

Status Restore(const Settings& settings) {
  STRATA_ASSIGN(const std::unique_ptr<RemoteStore> store,
                RemoteStore::Connect({.servers = settings.TextList("servers"),
                                      .cluster_id = Hash64(settings.Text("cluster")),
                                      .client_name = "soak restore"}));
  return RemoteCheckpointer(*store).Restore(static_cast<uint32_t>(settings.Int("restore")),
                                            RealClock().Now() + kRestoreTimeout);
}

Status Push(const Settings& settings) {
  const SoakClientOptions options{.servers = settings.TextList("servers"),
                                  .cluster_id = Hash64(settings.Text("cluster")),
                                  .client = static_cast<uint32_t>(settings.Int("client")),
                                  .session = static_cast<uint32_t>(settings.Int("session")),
                                  .first_op = static_cast<uint64_t>(settings.Int("first_op")),
                                  .synced = settings.Bool("synced"),
                                  .history = settings.Text("history"),
                                  .page = settings.Text("page")};
  const std::vector<uint16_t> lanes(options.servers.size(),
                                    static_cast<uint16_t>(settings.Int("lanes")));
  STRATA_ASSIGN(wire::ShardMap map, wire::MakeShardMap(lanes));
  if (map.lanes.size() > kLanesMax) return Invalid("too many lanes");
  const Load load(static_cast<uint64_t>(settings.Int("seed")), std::move(map));
  SoakClient(options, &load).Run();
  return {};
}

Status Run(int argc, char** argv) {
  Settings settings(kTable);
  const FlagTarget target{&kTable, &settings, nullptr};
  STRATA_ASSIGN(const CommandLine line, ParseCommandLine(argc, argv, 1, {&target, 1}));
  if (line.help) {
    const SettingsTable* const tables[] = {&kTable};
    return WriteStdout(HelpText("strata-soak-client --servers=A,B --history=FILE --page=FILE",
                                "One client of a soak.", 1, tables));
  }
  if (settings.Int("restore") != 0) return Restore(settings);
  if (settings.Text("page").empty()) return Invalid("--page is needed");
  if (settings.Bool("checkpoints")) {
    RunCheckpointLoop({.servers = settings.TextList("servers"),
                       .cluster_id = Hash64(settings.Text("cluster")),
                       .page = settings.Text("page")});
    return {};
  }
  if (settings.Text("history").empty()) return Invalid("--history is needed");
  return Push(settings);
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  const strata::Status status = strata::soak::Run(argc, argv);
  if (!status.ok()) strata::PrintStderr("strata-soak-client: {}\n", status.ToString());
  return strata::ExitCode(status);
}
