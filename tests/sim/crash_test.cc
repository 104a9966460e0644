// Whole clusters whose servers die, lose power, run out of disk and are cut off, from seeds; and
// bugs planted on purpose, each of which must be found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/wire/header.h"
#include "tests/sim/planted_bugs.h"
#include "tests/sim/scenario.h"
#include "tests/sim/sim_cluster.h"

namespace strata::sim {
namespace {

constexpr uint64_t kSeedsToFindABug = 500;

TEST(SimCrash, NothingIsLostDoubledOrWrong) {
  uint64_t processes = 0, power_losses = 0, unknown = 0, checkpoints = 0, steps = 0, expired = 0;
  for (const uint64_t seed : Seeds()) {
    const SeedResult result = RunSeed(seed);
    ASSERT_TRUE(result.ok()) << result.Describe();
    EXPECT_GE(result.operations, 1000U);
    processes += result.processes;
    power_losses += result.power_losses;
    unknown += result.unknown;
    checkpoints += result.checkpoints;
    steps += result.steps;
    expired += result.expired;
  }
  // The nemesis does strike.
  EXPECT_GT(processes, 10 * Seeds().size());
  EXPECT_GT(power_losses, Seeds().size());
  EXPECT_GT(unknown, Seeds().size());
  EXPECT_GT(checkpoints, Seeds().size());
  EXPECT_GT(steps, Seeds().size());
  EXPECT_GT(expired, 0U);
}

TEST(SimCrash, TheSameSeedGivesTheSameRun) {
  const SeedResult first = RunSeed(7), second = RunSeed(7), other = RunSeed(8);
  EXPECT_EQ(first.history, second.history);
  EXPECT_EQ(first.acked, second.acked);
  EXPECT_NE(first.history, other.history);
}

// The first seed that finds the bug, said aloud.
SeedResult Find(const Bugs& bugs) {
  for (uint64_t seed = 1; seed <= kSeedsToFindABug; ++seed) {
    const SeedResult result = RunSeed(seed, bugs);
    if (result.ok()) continue;
    fmt::print("found by seed {}: {}\n", seed, result.Describe());
    return result;
  }
  ADD_FAILURE() << "not found in " << kSeedsToFindABug << " seeds";
  return {};
}

TEST(SimPlantedBugs, AcknowledgedBeforeItIsLogged) {
  EXPECT_GT(Find(AckBeforeLog()).findings.lost, 0U);
}

TEST(SimPlantedBugs, AcknowledgedBeforeItIsSynced) {
  EXPECT_GT(Find(AckBeforeSync()).findings.lost, 0U);
}

TEST(SimPlantedBugs, RestartedWithoutItsWindows) {
  EXPECT_GT(Find(ForgetWindows()).findings.doubled, 0U);
}

TEST(SimPlantedBugs, ManifestBeforeItsParts) {
  EXPECT_GT(Find(ManifestFirst()).findings.wrong, 0U);
}

}  // namespace
}  // namespace strata::sim
