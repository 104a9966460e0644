#include "tests/soak/soak_cluster.h"

#include <fmt/format.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/hash.h"
#include "tests/support/free_port.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr const char* kName = "soak";
constexpr size_t kTailBytes = 1500;
constexpr TimeNs kStandstill = kSecond;

Load MakeLoad(const SoakClusterOptions& options) {
  const std::vector<uint16_t> lanes(options.servers, static_cast<uint16_t>(options.lanes));
  Result<wire::ShardMap> map = wire::MakeShardMap(lanes);
  STRATA_CHECK(map.ok());
  return {options.seed, std::move(*map)};
}

std::string Tail(const std::string& text) {
  return text.size() <= kTailBytes ? text : "... " + text.substr(text.size() - kTailBytes);
}

std::string Describe(const ProcessEnd& end) {
  return end.signal != 0 ? fmt::format("was ended by signal {}", end.signal)
                         : fmt::format("exited with code {}", end.code);
}

Status Ended(const std::string& name, Process& process) {
  return Failed(fmt::format("{} {}: {}", name, Describe(*process.Wait()), Tail(process.Errors())));
}

}  // namespace

SoakCluster::SoakCluster(const SoakClusterOptions& options)
    : options_(options),
      load_(MakeLoad(options)),
      oracle_(&load_, options.clients),
      servers_(options.servers),
      clients_(options.clients),
      checkpoints_page_(std::make_unique<SharedPage>(folder_.File("checkpoints.page"))) {
  std::deque<FreePort> ports(options.servers);
  std::string machines;
  for (const FreePort& port : ports) {
    addresses_.push_back(fmt::format("127.0.0.1:{}", port.number()));
    machines += fmt::format("{} server lanes={}\n", addresses_.back(), options.lanes);
  }
  WriteWholeFile(folder_.File("machines.txt"), machines);
  WriteWholeFile(folder_.File("cluster.toml"),
                 fmt::format("[cluster]\nname = \"{}\"\nmachines = \"machines.txt\"\n"
                             "[server]\n{}\n{}\n[http]\nport = -1\n",
                             kName, options.data ? "checkpoints = \"state/checkpoints\"" : "",
                             options.settings));
  for (uint32_t client = 0; client < options.clients; ++client) {
    pages_.push_back(
        std::make_unique<SharedPage>(folder_.File(fmt::format("client-{}.page", client))));
    readers_.emplace_back(folder_.File(fmt::format("client-{}.history", client)));
  }
}

// Clients first: they would complain about servers that go.
SoakCluster::~SoakCluster() {
  checkpoints_.reset();
  clients_.clear();
}

uint64_t SoakCluster::cluster_id() const { return Hash64(kName); }

std::string SoakCluster::StateFolder() const { return folder_.File("state"); }

std::string SoakCluster::DataFolder(uint32_t rank) const {
  return fmt::format("{}/data-{}", StateFolder(), rank);
}

Status SoakCluster::Start() {
  for (uint32_t rank = 0; rank < options_.servers; ++rank) StartServer(rank);
  for (uint32_t rank = 0; rank < options_.servers; ++rank) STRATA_TRY(AwaitReady(rank));
  return ConnectVerifier();
}

void SoakCluster::StartServer(uint32_t rank, std::map<std::string, std::string> environment) {
  ProcessOptions process{
      .arguments = {"--config=" + folder_.File("cluster.toml"), fmt::format("--rank={}", rank)},
      .environment = std::move(environment)};
  if (options_.data) process.arguments.push_back("--data=" + DataFolder(rank));
  servers_[rank] = std::make_unique<Process>(ProgramPath("strata-server"), std::move(process));
}

Status SoakCluster::AwaitReady(uint32_t rank) {
  Process& process = *servers_[rank];
  if (process.WaitForOutput("ready", options_.patience)) return {};
  const std::string name = fmt::format("server {}", rank);
  if (!process.Running()) return Ended(name, process);
  return DeadlineExceeded(fmt::format("{} was not ready within {} s of its start: {}", name,
                                      options_.patience / kSecond, Tail(process.Errors())));
}

void SoakCluster::KillServer(uint32_t rank) {
  servers_[rank]->Signal(SIGKILL);
  servers_[rank]->Wait();
}

std::string SoakCluster::ServersFlag() const {
  return fmt::format("--servers={}", fmt::join(addresses_, ","));
}

void SoakCluster::StartCheckpoints() {
  checkpoints_ = std::make_unique<Process>(
      ProgramPath("strata-soak-client"),
      ProcessOptions{.arguments = {ServersFlag(), "--cluster=" + std::string(kName),
                                   "--checkpoints=true",
                                   "--page=" + folder_.File("checkpoints.page")}});
}

void SoakCluster::KillCheckpoints() {
  checkpoints_->Signal(SIGKILL);
  checkpoints_->Wait();
}

void SoakCluster::StartClient(uint32_t client) {
  ReadHistories();
  clients_[client] = std::make_unique<Process>(
      ProgramPath("strata-soak-client"),
      ProcessOptions{
          .arguments = {ServersFlag(), "--cluster=" + std::string(kName),
                        fmt::format("--lanes={}", options_.lanes),
                        fmt::format("--client={}", client), fmt::format("--seed={}", options_.seed),
                        fmt::format("--session={}", oracle_.next_session(client)),
                        fmt::format("--first_op={}", oracle_.next_op(client)),
                        fmt::format("--synced={}", options_.data),
                        "--history=" + folder_.File(fmt::format("client-{}.history", client)),
                        "--page=" + folder_.File(fmt::format("client-{}.page", client))}});
}

void SoakCluster::KillClient(uint32_t client) {
  clients_[client]->Signal(SIGKILL);
  clients_[client]->Wait();
}

void SoakCluster::ReadHistories() {
  for (HistoryReader& reader : readers_) {
    for (const Record& record : reader.ReadNew()) oracle_.Take(record);
  }
}

Status SoakCluster::CheckAlive() {
  for (uint32_t rank = 0; rank < options_.servers; ++rank) {
    if (!servers_[rank]->Running()) return Ended(fmt::format("server {}", rank), *servers_[rank]);
  }
  for (uint32_t client = 0; client < options_.clients; ++client) {
    if (clients_[client] && !clients_[client]->Running()) {
      return Ended(fmt::format("client {}", client), *clients_[client]);
    }
  }
  return {};
}

Status SoakCluster::WaitFor(const std::string& what, const std::function<bool()>& done) {
  Status alive;
  const bool in_time = WaitUntil(
      [&] {
        alive = CheckAlive();
        return !alive.ok() || done();
      },
      options_.patience);
  if (in_time) return alive;
  std::string words;
  for (uint32_t rank = 0; rank < options_.servers; ++rank) {
    words += fmt::format("\n  server {}: {}", rank, Tail(servers_[rank]->Errors()));
  }
  for (uint32_t client = 0; client < options_.clients; ++client) {
    words += fmt::format("\n  client {}: {}", client, Tail(clients_[client]->Errors()));
  }
  if (checkpoints_) words += "\n  checkpoints: " + Tail(checkpoints_->Errors());
  return DeadlineExceeded(
      fmt::format("waited {} s for {}{}", options_.patience / kSecond, what, words));
}

Status SoakCluster::AwaitProgress() {
  std::vector<uint64_t> goals;
  for (const auto& page : pages_) goals.push_back((*page)->acked + 8);  // more than are under way
  for (uint32_t client = 0; client < options_.clients; ++client) {
    STRATA_TRY(WaitFor(fmt::format("an acknowledgement to client {}", client),
                       [&] { return (*pages_[client])->acked >= goals[client]; }));
  }
  return {};
}

void SoakCluster::AwaitStandstill() {
  uint64_t last = 0;
  TimeNs since = RealClock().Now();
  WaitUntil(
      [&] {
        uint64_t acked = 0;
        for (const auto& page : pages_) acked += (*page)->acked;
        if (acked != std::exchange(last, acked)) since = RealClock().Now();
        return RealClock().Now() - since >= kStandstill;
      },
      options_.patience);
}

Status SoakCluster::Pause() {
  for (const auto& page : pages_) (*page)->idle = 0;
  for (const auto& page : pages_) (*page)->paused = 1;
  for (uint32_t client = 0; client < options_.clients; ++client) {
    STRATA_TRY(WaitFor(fmt::format("client {} to hear of all its operations", client),
                       [&] { return (*pages_[client])->idle != 0; }));
  }
  return {};
}

void SoakCluster::Resume() {
  for (const auto& page : pages_) (*page)->paused = 0;
}

Status SoakCluster::ConnectVerifier() {
  auto store = RemoteStore::Connect({.servers = addresses_,
                                     .cluster_id = cluster_id(),
                                     .client_name = "soak oracle",
                                     .connect_timeout = options_.patience,
                                     .request_timeout = options_.patience});
  if (!store.ok()) return store.status().Prefixed("the oracle's connection");
  verifier_ = std::move(*store);
  return verifier_->CreateTable(SoakTable()).Prefixed("the oracle's table");
}

Status SoakCluster::Pull(const std::vector<Probe>& probes, std::vector<float>* rows) {
  std::vector<Key> keys;
  keys.reserve(probes.size());
  for (const Probe& probe : probes) keys.push_back(probe.key);
  rows->assign(keys.size() * kDim, 0.0F);
  Operation pull;
  pull.parts.resize(1);
  pull.parts[0].table = SoakTable().id();
  pull.parts[0].keys = keys;
  pull.parts[0].out = *rows;
  return SubmitAndWait(*verifier_, std::move(pull)).status;
}

Status SoakCluster::Verify(bool all, Findings* findings) {
  ReadHistories();
  const std::vector<Probe> probes = oracle_.Probes(all);
  std::vector<float> rows;
  Status status = Pull(probes, &rows);
  if (status.code() == StatusCode::kLost && !options_.data) {
    // Servers that forget are other ones after a kill.
    STRATA_TRY(ConnectVerifier());
    status = Pull(probes, &rows);
  }
  STRATA_TRY(status.Prefixed("the oracle's pull"));
  oracle_.Compare(probes, rows, findings);
  return {};
}

Status SoakCluster::VerifyApart(Findings* findings) {
  STRATA_TRY(ConnectVerifier());
  Oracle oracle = oracle_;
  const std::vector<Probe> probes = oracle.Probes(true);
  std::vector<float> rows;
  STRATA_TRY(Pull(probes, &rows).Prefixed("the oracle's pull"));
  oracle.Compare(probes, rows, findings);
  return {};
}

}  // namespace strata::soak
