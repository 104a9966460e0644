#include "tests/soak/soak_cluster.h"

#include <fmt/format.h>

#include <csignal>
#include <functional>
#include <utility>

#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr TimeNs kStandstill = kSecond;

Load MakeLoad(const SoakClusterOptions& options) {
  const std::vector<uint16_t> lanes(options.servers, static_cast<uint16_t>(options.lanes));
  Result<wire::ShardMap> map = wire::MakeShardMap(lanes);
  STRATA_CHECK(map.ok());
  return {options.seed, std::move(*map)};
}

}  // namespace

SoakCluster::SoakCluster(const SoakClusterOptions& options)
    : SoakServers(options),
      load_(MakeLoad(options)),
      oracle_(&load_, options.clients),
      clients_(options.clients),
      checkpoints_page_(std::make_unique<SharedPage>(File("checkpoints.page"))) {
  for (uint32_t client = 0; client < options.clients; ++client) {
    pages_.push_back(std::make_unique<SharedPage>(File(fmt::format("client-{}.page", client))));
    readers_.emplace_back(File(fmt::format("client-{}.history", client)));
  }
}

// Clients first: they would complain about servers that go.
SoakCluster::~SoakCluster() {
  checkpoints_.reset();
  clients_.clear();
}

Status SoakCluster::Start() {
  STRATA_TRY(StartServers());
  return ConnectVerifier();
}

std::string SoakCluster::ServersFlag() const {
  return fmt::format("--servers={}", fmt::join(addresses(), ","));
}

void SoakCluster::StartCheckpoints() {
  checkpoints_ = std::make_unique<Process>(
      ProgramPath("strata-soak-client"),
      ProcessOptions{.arguments = {ServersFlag(), "--cluster=" + std::string(name()),
                                   "--checkpoints=true", "--page=" + File("checkpoints.page")}});
}

void SoakCluster::KillCheckpoints() {
  checkpoints_->Signal(SIGKILL);
  checkpoints_->Wait();
}

void SoakCluster::StartClient(uint32_t client) {
  ReadHistories();
  clients_[client] = std::make_unique<Process>(
      ProgramPath("strata-soak-client"),
      ProcessOptions{.arguments = {ServersFlag(), "--cluster=" + std::string(name()),
                                   fmt::format("--lanes={}", options().lanes),
                                   fmt::format("--client={}", client),
                                   fmt::format("--seed={}", options().seed),
                                   fmt::format("--session={}", oracle_.next_session(client)),
                                   fmt::format("--first_op={}", oracle_.next_op(client)),
                                   fmt::format("--synced={}", options().data),
                                   "--history=" + File(fmt::format("client-{}.history", client)),
                                   "--page=" + File(fmt::format("client-{}.page", client))}});
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
  STRATA_TRY(CheckServers());
  for (uint32_t client = 0; client < options().clients; ++client) {
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
      options().patience);
  if (in_time) return alive;
  std::string words = LastWords();
  for (uint32_t client = 0; client < options().clients; ++client) {
    words += fmt::format("\n  client {}: {}", client, Tail(clients_[client]->Errors()));
  }
  if (checkpoints_) words += "\n  checkpoints: " + Tail(checkpoints_->Errors());
  return DeadlineExceeded(
      fmt::format("waited {} s for {}{}", options().patience / kSecond, what, words));
}

Status SoakCluster::AwaitProgress() {
  std::vector<uint64_t> goals;
  for (const auto& page : pages_) goals.push_back((*page)->acked + 8);  // more than are under way
  for (uint32_t client = 0; client < options().clients; ++client) {
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
      options().patience);
}

Status SoakCluster::Pause() {
  for (const auto& page : pages_) (*page)->idle = 0;
  for (const auto& page : pages_) (*page)->paused = 1;
  for (uint32_t client = 0; client < options().clients; ++client) {
    STRATA_TRY(WaitFor(fmt::format("client {} to hear of all its operations", client),
                       [&] { return (*pages_[client])->idle != 0; }));
  }
  return {};
}

void SoakCluster::Resume() {
  for (const auto& page : pages_) (*page)->paused = 0;
}

Status SoakCluster::ConnectVerifier() {
  auto store = RemoteStore::Connect({.servers = addresses(),
                                     .cluster_id = cluster_id(),
                                     .client_name = "soak oracle",
                                     .connect_timeout = options().patience,
                                     .request_timeout = options().patience});
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
  if (status.code() == StatusCode::kLost && !options().data) {
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
