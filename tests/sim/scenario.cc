#include "tests/sim/scenario.h"

#include <fmt/format.h>

#include "tests/sim/checkpoints.h"
#include "tests/sim/load.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/shared_folder.h"
#include "tests/sim/sim_cluster.h"

namespace strata::sim {
namespace {

constexpr TimeNs kPatience = 900 * kSecond;  // longer than any operation's deadline

ClusterOptions ChooseCluster(uint64_t seed, Random& random, const Bugs& bugs) {
  ClusterOptions options;
  options.seed = seed;
  options.lanes_per_server.clear();
  for (uint64_t servers = 2 + random.Below(2); servers > 0; --servers) {
    options.lanes_per_server.push_back(static_cast<uint16_t>(1 + random.Below(2)));
  }
  options.clients = 3;
  options.drop = random.Chance(0.5) ? 0.02 : 0;
  options.repeat = random.Chance(0.5) ? 0.05 : 0;
  options.delay_max = (1 + static_cast<TimeNs>(random.Below(8))) * kMillisecond;
  options.server.durable = true;
  options.server.round_max = static_cast<TimeNs>(random.Below(3)) * kMillisecond;
  options.server.recovery_max = 10 * options.delay_max;
  options.server.ports_move = random.Chance(0.25);
  options.server.keep = 1 + static_cast<uint32_t>(random.Below(4));
  options.server.bugs = bugs;
  return options;
}

}  // namespace

std::string SeedResult::Describe() const {
  return fmt::format(
      "seed {}: {} operations, {} processes, {} losses of power: {} lost, {} doubled, {} "
      "wrong{}{}; "
      "see it again with strata-soak-sim --first={} --seeds=1",
      seed, operations, processes, power_losses, findings.lost, findings.doubled, findings.wrong,
      findings.none() ? "" : ": " + findings.first, hung ? "; it hangs: " + stuck : "", seed);
}

SeedResult RunSeed(uint64_t seed, const Bugs& bugs) {
  SeedResult result;
  result.seed = seed;
  Random random(seed);
  ClusterOptions options = ChooseCluster(seed, random, bugs);
  SharedFolder shared(seed);
  std::unique_ptr<Disk> planted;
  if (bugs.wrap_checkpoints) planted = bugs.wrap_checkpoints(shared.disk());
  const bool other_log = bugs.wrap_log || bugs.replayed;
  if (!other_log) options.server.checkpoints = planted ? planted.get() : &shared.disk();
  Cluster cluster(options);
  NemesisOptions nemesis_options;
  nemesis_options.seed = seed;
  nemesis_options.every = (10 + static_cast<TimeNs>(random.Below(40))) * options.delay_max;
  nemesis_options.down_max = 20 * options.delay_max;
  nemesis_options.power = random.Chance(0.5);
  LoadOptions load_options;
  load_options.seed = seed;
  if (nemesis_options.power) {
    load_options.ack = AckLevel::kSynced;
    load_options.other_ack = random.Chance(0.5) ? 0.3 : 0;
  }
  Load load(cluster, load_options);
  Nemesis nemesis(cluster, load, shared, nemesis_options);
  Checkpoints checkpoints(cluster, load, shared.disk(), options.server.keep, seed);
  if (const Status created = load.CreateTables(); !created.ok()) {
    result.findings.Add(&Findings::wrong, "no tables: " + created.ToString());
    return result;
  }
  nemesis.Begin();
  load.Begin();
  if (options.server.checkpoints != nullptr) checkpoints.Begin(100 * options.delay_max);
  const TimeNs end = cluster.now() + kPatience;
  const bool ended = cluster.Run([&] { return load.done() || cluster.now() > end; });
  nemesis.End();
  checkpoints.End();
  const TimeNs mended = cluster.now() + 5 * kSecond;
  cluster.Run([&] { return cluster.now() >= mended; });
  result.hung = !ended || !load.done();
  if (result.hung) {
    for (size_t server = 0; server < cluster.servers(); ++server) {
      result.stuck += fmt::format("server {} {} ({}); ", server,
                                  cluster.server(server).serving() ? "serves" : "does not serve",
                                  cluster.server(server).last_error().ToString());
    }
  } else {
    load.CheckEverything();
    checkpoints.Check();
  }
  result.operations = load.counts().operations;
  result.acked = load.counts().acked;
  result.unknown = load.counts().unknown;
  result.kills = nemesis.kills();
  result.checkpoints = checkpoints.taken();
  result.power_losses = nemesis.power_losses() + shared.power_losses();
  for (size_t server = 0; server < cluster.servers(); ++server) {
    result.processes += cluster.server(server).processes();
    if (!cluster.server(server).unnoticed_flip()) continue;
    load.findings().Add(&Findings::wrong,
                        fmt::format("server {}: a flip in its log went unnoticed", server));
  }
  result.findings = load.findings();
  result.history = cluster.history();
  return result;
}

}  // namespace strata::sim
