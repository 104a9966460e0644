// Synchronous training under drops, repeats and reordering: the ranks of a group step together, and
// every row that a rank pulls is bit for bit that of one process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/sim/sim_cluster.h"
#include "tests/sim/trainers.h"

namespace strata::sim {
namespace {

void RunGroup(uint64_t seed, std::vector<uint16_t> lanes_per_server, bool fused) {
  TrainersOptions group;
  group.seed = seed;
  group.fused = fused;
  ClusterOptions options;
  options.seed = seed;
  options.lanes_per_server = std::move(lanes_per_server);
  options.clients = group.world;
  options.drop = 0.05;
  options.repeat = 0.1;
  Cluster cluster(options);
  Trainers trainers(cluster, group);
  ASSERT_TRUE(trainers.CreateTables().ok());
  trainers.Begin();
  const bool ended = cluster.Run([&] { return trainers.done(); });
  ASSERT_EQ(trainers.error(), "");
  ASSERT_TRUE(ended) << "the group stands still";
}

TEST(SimSync, RanksStepTogetherBitForBit) {
  for (const uint64_t seed : Seeds()) {
    SCOPED_TRACE(fmt::format("replay with STRATA_SIM_SEED={} STRATA_SIM_SEEDS=1", seed));
    RunGroup(seed, {2, 1, 3}, seed % 2 == 0);
    if (HasFatalFailure()) return;
  }
}

TEST(SimSync, AnyNumberOfServersGivesTheSameBits) {
  for (const auto& lanes : {std::vector<uint16_t>{1}, {4}, {1, 1}, {8, 8, 8, 8, 8}}) {
    for (const bool fused : {false, true}) RunGroup(77, lanes, fused);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace strata::sim
