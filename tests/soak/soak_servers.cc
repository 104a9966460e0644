#include "tests/soak/soak_servers.h"

#include <fmt/format.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <utility>

#include "base/hash.h"
#include "tests/support/free_port.h"

namespace strata::soak {
namespace {

constexpr size_t kTailBytes = 1500;

std::string Describe(const ProcessEnd& end) {
  return end.signal != 0 ? fmt::format("was ended by signal {}", end.signal)
                         : fmt::format("exited with code {}", end.code);
}

}  // namespace

std::string Tail(const std::string& text) {
  return text.size() <= kTailBytes ? text : "... " + text.substr(text.size() - kTailBytes);
}

Status Ended(const std::string& name, Process& process) {
  return Failed(fmt::format("{} {}: {}", name, Describe(*process.Wait()), Tail(process.Errors())));
}

const char* SoakServers::name() { return "soak"; }

uint64_t SoakServers::cluster_id() { return Hash64(name()); }

SoakServers::SoakServers(const SoakClusterOptions& options)
    : options_(options), servers_(options.servers) {
  std::deque<FreePort> ports(options.servers + options.workers);
  std::string machines;
  for (const FreePort& port : ports) {
    const std::string address = fmt::format("127.0.0.1:{}", port.number());
    if (addresses_.size() < options.servers) {
      machines += fmt::format("{} server lanes={}\n", address, options.lanes);
      addresses_.push_back(address);
    } else {
      machines += address + " worker\n";
    }
  }
  WriteWholeFile(File("machines.txt"), machines);
  WriteWholeFile(config(),
                 fmt::format("[cluster]\nname = \"{}\"\nmachines = \"machines.txt\"\n"
                             "[server]\n{}\n{}\n[http]\nport = {}\n",
                             name(), options.data ? "checkpoints = \"state/checkpoints\"" : "",
                             options.settings, options.http ? 0 : -1));
}

std::string SoakServers::DataFolder(uint32_t rank) const {
  return fmt::format("{}/data-{}", StateFolder(), rank);
}

Status SoakServers::StartServers() {
  for (uint32_t rank = 0; rank < options_.servers; ++rank) StartServer(rank);
  for (uint32_t rank = 0; rank < options_.servers; ++rank) STRATA_TRY(AwaitReady(rank));
  return {};
}

void SoakServers::StartServer(uint32_t rank, std::map<std::string, std::string> environment) {
  ProcessOptions process{.arguments = {"--config=" + config(), fmt::format("--rank={}", rank)},
                         .environment = std::move(environment)};
  process.arguments.push_back(options_.data ? "--data=" + DataFolder(rank) : "--memory_only");
  servers_[rank] = std::make_unique<Process>(ProgramPath("strata-server"), std::move(process));
}

Status SoakServers::AwaitReady(uint32_t rank) {
  Process& process = *servers_[rank];
  if (process.WaitForOutput("ready", options_.patience)) return {};
  const std::string name = fmt::format("server {}", rank);
  if (!process.Running()) return Ended(name, process);
  return DeadlineExceeded(fmt::format("{} was not ready within {} s of its start: {}", name,
                                      options_.patience / kSecond, Tail(process.Errors())));
}

void SoakServers::KillServer(uint32_t rank) {
  servers_[rank]->Signal(SIGKILL);
  servers_[rank]->Wait();
}

Status SoakServers::CheckServers() {
  for (uint32_t rank = 0; rank < options_.servers; ++rank) {
    if (!servers_[rank]->Running()) return Ended(fmt::format("server {}", rank), *servers_[rank]);
  }
  return {};
}

std::string SoakServers::LastWords() const {
  std::string words;
  for (uint32_t rank = 0; rank < options_.servers; ++rank) {
    words += fmt::format("\n  server {}: {}", rank, Tail(servers_[rank]->Errors()));
  }
  std::ifstream stalls("/proc/pressure/io");  // absent where the kernel does not count them
  for (std::string line; std::getline(stalls, line);) words += "\n  waiting for disks, " + line;
  return words;
}

}  // namespace strata::soak
