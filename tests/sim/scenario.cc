#include "tests/sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "storage/checkpoint/load.h"
#include "tests/sim/checkpoints.h"
#include "tests/sim/load.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/shared_folder.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/trainers.h"

namespace strata::sim {
namespace {

constexpr TimeNs kPatience = 900 * kSecond;  // longer than any operation's deadline

constexpr size_t kLoadClients = 3;
constexpr size_t kTakers = 3;

class Scenario {
 public:
  Scenario(uint64_t seed, const Bugs& bugs) : seed_(seed), random_(seed), shared_(seed) {
    if (bugs.wrap_checkpoints) planted_ = bugs.wrap_checkpoints(shared_.disk());
    ChooseCluster(bugs);
    ChooseLoad();
    ChooseGuests();
    ChooseTakers();
  }

  SeedResult Run();

 private:
  void ChooseCluster(const Bugs& bugs);
  void ChooseLoad();
  void ChooseGuests();
  void ChooseTakers();
  void CheckRetired(uint32_t number);
  Status CreateTables();
  bool Done() const;
  std::string Stuck();
  void Judge();
  void Count();

  const uint64_t seed_;
  Random random_;
  SharedFolder shared_;
  std::unique_ptr<Disk> planted_;
  ClusterOptions options_;
  NemesisOptions nemesis_options_;
  LoadOptions load_options_;
  CheckpointsOptions checkpoints_options_;
  std::optional<TrainersOptions> trainers_options_;
  // In the order in which they are made, while it runs.
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Load> load_;
  std::unique_ptr<Trainers> trainers_;
  std::unique_ptr<Nemesis> nemesis_;
  std::unique_ptr<Checkpoints> checkpoints_;
  SeedResult result_;
};

void Scenario::ChooseCluster(const Bugs& bugs) {
  options_.seed = seed_;
  options_.lanes_per_server.clear();
  for (uint64_t servers = 2 + random_.Below(2); servers > 0; --servers) {
    options_.lanes_per_server.push_back(static_cast<uint16_t>(1 + random_.Below(2)));
  }
  options_.clients = kLoadClients;
  options_.drop = random_.Chance(0.5) ? 0.02 : 0;
  options_.repeat = random_.Chance(0.5) ? 0.05 : 0;
  options_.delay_max = (1 + static_cast<TimeNs>(random_.Below(8))) * kMillisecond;
  SimServerOptions& server = options_.server;
  server.durable = true;
  server.round_max = static_cast<TimeNs>(random_.Below(3)) * kMillisecond;
  server.recovery_max = 10 * options_.delay_max;
  server.ports_move = random_.Chance(0.25);
  server.keep = 1 + static_cast<uint32_t>(random_.Below(4));
  server.bugs = bugs;
  const bool other_log = bugs.wrap_log || bugs.replayed;
  if (!other_log) server.checkpoints = planted_ ? planted_.get() : &shared_.disk();
}

void Scenario::ChooseLoad() {
  nemesis_options_.seed = seed_;
  nemesis_options_.every = (10 + static_cast<TimeNs>(random_.Below(40))) * options_.delay_max;
  nemesis_options_.down_max = 20 * options_.delay_max;
  nemesis_options_.power = random_.Chance(0.5);
  load_options_.seed = seed_;
  load_options_.clients = kLoadClients;
  if (!nemesis_options_.power) return;
  load_options_.ack = AckLevel::kSynced;
  load_options_.other_ack = random_.Chance(0.5) ? 0.3 : 0;
}

// A synchronous group, or too many clients for the lanes' windows, or neither.
void Scenario::ChooseGuests() {
  const uint64_t choice = random_.Below(4);
  if (choice == 0) {
    options_.server.dedup.clients_max = kLoadClients - 1;
    options_.server.dedup.idle_min =
        (5 + static_cast<TimeNs>(random_.Below(20))) * options_.delay_max;
    load_options_.rest_max = 3 * options_.server.dedup.idle_min;
    load_options_.calm_after = 3 * options_.delay_max + options_.server.round_max;
  } else if (choice < 3) {
    TrainersOptions& group = trainers_options_.emplace();
    group.seed = seed_;
    group.first_client = kLoadClients;
    group.world = static_cast<uint16_t>(2 + random_.Below(2));
    group.first_step = 1;
    group.steps = 10;
    group.keys = 60;
    group.keys_of_push = 20;
    group.ack = load_options_.ack;
    group.fused = random_.Chance(0.5);
    options_.clients += group.world;
  }
}

// They are in each other's way, and some stand still for longer than their turn. A planted bug
// needs no such help.
void Scenario::ChooseTakers() {
  checkpoints_options_ = {
      .seed = seed_, .first_taker = options_.clients, .keep = options_.server.keep};
  if (planted_ == nullptr) {
    checkpoints_options_.takers = 1 + random_.Below(kTakers);
    checkpoints_options_.stalls = random_.Chance(0.5) ? 0.15 : 0;
  }
  options_.clients += checkpoints_options_.takers;
}

// No lane's log begins after it, nor after one that is built on it.
void Scenario::CheckRetired(uint32_t number) {
  for (size_t server = 0; server < cluster_->servers(); ++server) {
    for (const uint32_t base : cluster_->server(server).Bases()) {
      const auto chain = ReadCheckpointChain(shared_.disk(), kCheckpointsFolder, base);
      const bool needs =
          !chain.ok() ||
          std::ranges::find(*chain, number, &format::CheckpointManifest::number) != chain->end();
      if (!needs) continue;
      load_->findings().Add(
          &Findings::wrong,
          fmt::format("checkpoint {} is retired, and server {} has a log that "
                      "begins after checkpoint {}{}",
                      number, server, base, chain.ok() ? "" : ": " + chain.status().ToString()));
    }
  }
}

Status Scenario::CreateTables() {
  STRATA_TRY(load_->CreateTables());
  return trainers_ == nullptr ? Status() : trainers_->CreateTables();
}

bool Scenario::Done() const {
  const bool trained = trainers_ == nullptr || trainers_->done() || !trainers_->error().empty();
  return load_->done() && trained;
}

SeedResult Scenario::Run() {
  result_.seed = seed_;
  cluster_ = std::make_unique<Cluster>(options_);
  load_ = std::make_unique<Load>(*cluster_, load_options_);
  if (trainers_options_) trainers_ = std::make_unique<Trainers>(*cluster_, *trainers_options_);
  nemesis_ = std::make_unique<Nemesis>(*cluster_, *load_, shared_, nemesis_options_);
  checkpoints_ = std::make_unique<Checkpoints>(*cluster_, *load_, trainers_.get(), shared_.disk(),
                                               checkpoints_options_);
  shared_.OnRetired([this](uint32_t number) { CheckRetired(number); });
  if (const Status created = CreateTables(); !created.ok()) {
    result_.findings.Add(&Findings::wrong, "no tables: " + created.ToString());
    return result_;
  }
  nemesis_->Begin();
  load_->Begin();
  if (trainers_ != nullptr) trainers_->Begin();
  if (options_.server.checkpoints != nullptr) checkpoints_->Begin(100 * options_.delay_max);
  const TimeNs end = cluster_->now() + kPatience;
  const bool ended = cluster_->Run([&] { return Done() || cluster_->now() > end; });
  nemesis_->End();
  checkpoints_->End();
  const TimeNs mended = cluster_->now() + 5 * kSecond;
  cluster_->Run([&] { return cluster_->now() >= mended; });
  result_.hung = !ended || !Done();
  if (result_.hung) {
    result_.stuck = Stuck();
  } else {
    Judge();
  }
  Count();
  return result_;
}

std::string Scenario::Stuck() {
  std::string stuck;
  for (size_t server = 0; server < cluster_->servers(); ++server) {
    stuck += fmt::format("server {} {} ({}); ", server,
                         cluster_->server(server).serving() ? "serves" : "does not serve",
                         cluster_->server(server).last_error().ToString());
  }
  if (trainers_ != nullptr) {
    stuck += fmt::format("{} steps begun, {} acknowledged", trainers_->Begun(), trainers_->Acked());
  }
  return stuck;
}

void Scenario::Judge() {
  load_->CheckEverything();
  checkpoints_->Check();
  if (trainers_ != nullptr && !trainers_->error().empty()) {
    load_->findings().Add(&Findings::wrong, "training: " + trainers_->error());
  }
  for (size_t server = 0; server < cluster_->servers(); ++server) {
    if (!cluster_->server(server).unnoticed_flip()) continue;
    load_->findings().Add(&Findings::wrong,
                          fmt::format("server {}: a flip in its log went unnoticed", server));
  }
}

void Scenario::Count() {
  result_.operations = load_->counts().operations;
  result_.acked = load_->counts().acked;
  result_.unknown = load_->counts().unknown;
  result_.expired = load_->counts().expired;
  result_.left = load_->counts().left;
  if (trainers_ != nullptr) {
    result_.operations += trainers_->operations();
    result_.steps = trainers_->Acked();
  }
  result_.kills = nemesis_->kills();
  result_.checkpoints = checkpoints_->taken();
  result_.power_losses = nemesis_->power_losses() + shared_.power_losses();
  for (size_t server = 0; server < cluster_->servers(); ++server) {
    result_.processes += cluster_->server(server).processes();
  }
  result_.findings = load_->findings();
  result_.history = cluster_->history();
}

}  // namespace

std::string SeedResult::Describe(std::string_view again) const {
  return fmt::format(
      "seed {}: {} operations, {} processes, {} losses of power: {} lost, {} doubled, {} "
      "wrong{}{}; see it again with {}",
      seed, operations, processes, power_losses, findings.lost, findings.doubled, findings.wrong,
      findings.none() ? "" : ": " + findings.first, hung ? "; it hangs: " + stuck : "", again);
}

SeedResult RunSeed(uint64_t seed, const Bugs& bugs) { return Scenario(seed, bugs).Run(); }

}  // namespace strata::sim
