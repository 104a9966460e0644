// strata-server: one parameter server. Settings come from cluster.toml and flags; without any it
// serves on loopback.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <semaphore>
#include <string_view>

#include "base/failpoint.h"
#include "base/file/disk.h"
#include "base/file/open_files.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/print.h"
#include "base/signals.h"
#include "cluster/cluster_config.h"
#include "cluster/config_file.h"
#include "ps/service/server.h"
#include "ps/service/server_options.h"

namespace strata {
namespace {

Status LoadFile(const std::map<std::string, std::string>& flags, Settings* settings) {
  const auto path = flags.find("config");
  if (path == flags.end() || path->second.empty()) return {};
  return LoadClusterFile(RealDisk(), path->second, "--config", settings);
}

// Nothing when --help or --version was all that was asked.
Result<std::optional<ClusterConfig>> ReadConfig(int argc, char** argv) {
  STRATA_TRY(ArmFailpointsFromEnvironment());
  Settings settings(ClusterSettingsTable());
  const FlagTarget target{&ClusterSettingsTable(), &settings,
                          [&](const auto& flags) { return LoadFile(flags, &settings); }};
  STRATA_ASSIGN(const CommandLine line, ParseCommandLine(argc, argv, kProgramServer, {&target, 1}));
  if (line.help) {
    const std::array<const SettingsTable*, 1> tables = {&ClusterSettingsTable()};
    STRATA_TRY(
        WriteStdout(HelpText("strata-server [--config=FILE] [--rank=N] [flags]",
                             "Keeps tables of sparse parameters and answers pulls and pushes. "
                             "Without flags it serves on 127.0.0.1:7600.",
                             kProgramServer, tables)));
    return std::optional<ClusterConfig>();
  }
  if (line.version) {
    STRATA_TRY(PrintStdout("strata-server {}\n", STRATA_VERSION));
    return std::optional<ClusterConfig>();
  }
  if (!line.positional.empty()) {
    return Invalid(fmt::format("'{}' is no flag; --help lists all flags", line.positional.front()));
  }
  STRATA_ASSIGN(ClusterConfig config, MakeClusterConfig(settings));
  STRATA_TRY(CheckRankHasList(config));
  return std::optional<ClusterConfig>(std::move(config));
}

// Nothing is served yet, and a recovery that is cut short is one that is begun again.
[[noreturn]] void EndWhileStarting(int) {
  constexpr std::string_view kText =
      "strata-server: asked to end before it was ready; what is on disk stays as it is\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(0);
}

Result<std::unique_ptr<Server>> StartServer(ServerOptions options) {
  const SignalWatch watch(EndWhileStarting);
  return Server::Start(std::move(options));
}

// Below it libraries end the process where they get no descriptor.
constexpr uint64_t kOpenFilesMin = 128;

Status Serve(const ClusterConfig& config) {
  if (const uint64_t files = OpenFilesLimit(); files < kOpenFilesMin) {
    return Refused(
        fmt::format("this process may open {} files and sockets, and a server needs {} at least: "
                    "raise the limit "
                    "(ulimit -n)",
                    files, kOpenFilesMin));
  }
  STRATA_ASSIGN(ServerOptions options, MakeServerOptions(config));
  STRATA_ASSIGN(const LogLevel level, ParseLogLevel(config.log_level));
  STRATA_TRY(StartLogging(level, fmt::format("server-{}", options.rank), config.log_file));
  ReopenLogOnHangup();
  if (config.data.empty() && !config.memory_only) {
    Log(LogLevel::kWarning,
        "memory only: all that this server holds is lost when its process ends; --data=FOLDER "
        "keeps it");
  }
  options.on_shutdown = RequestShutdown;
  STRATA_ASSIGN(const std::unique_ptr<Server> server, StartServer(std::move(options)));
  if (const Status told = PrintStdout("strata-server ready: {}\n", server->Description());
      !told.ok()) {
    Log(LogLevel::kWarning, "ready, and nobody is told: {}", told.message());
  }
  std::binary_semaphore asked(0);
  const SignalWatch watch([&](int) { asked.release(); });
  asked.acquire();
  Log(LogLevel::kInfo, "shutting down: new writes are refused");
  server->Stop();
  server->Join();
  return {};
}

int Run(int argc, char** argv) {
  const Result<std::optional<ClusterConfig>> config = ReadConfig(argc, argv);
  Status status = config.status();
  if (config.ok() && config->has_value()) status = Serve(**config);
  FlushLog();
  if (!status.ok()) PrintStderr("strata-server: {}\n", status.ToString());
  return ExitCode(status);
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  strata::OpenMissingStreams();
  strata::IgnoreWriteSignals();
  strata::KeepFreedMemory();
  strata::RaiseOpenFilesLimit();
  strata::KeepFilesFromOthers();
  strata::BlockShutdownSignals();
  return strata::Run(argc, argv);
}
