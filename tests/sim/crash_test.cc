// Whole clusters whose servers die, lose power, run out of disk and are cut off, from seeds; and
// bugs planted on purpose, each of which must be found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/wire/header.h"
#include "tests/sim/planted_bugs.h"
#include "tests/sim/scenario.h"
#include "tests/sim/sim_cluster.h"

namespace strata::sim {
namespace {

constexpr uint64_t kSeedsToFindABug = 500;

// The command that shows it again: this very test.
std::string Again() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("sim_test --gtest_filter={}.{}", test.test_suite_name(), test.name());
}

TEST(SimCrash, NothingIsLostDoubledOrWrong) {
  uint64_t processes = 0, power_losses = 0, unknown = 0, checkpoints = 0, steps = 0, expired = 0,
           left = 0;
  for (const uint64_t seed : Seeds()) {
    const SeedResult result = RunSeed(seed);
    ASSERT_TRUE(result.ok()) << result.Describe(Again());
    EXPECT_GE(result.operations, 1000U);
    processes += result.processes;
    power_losses += result.power_losses;
    unknown += result.unknown;
    checkpoints += result.checkpoints;
    steps += result.steps;
    expired += result.expired;
    left += result.left;
  }
  // The nemesis does strike.
  EXPECT_GT(processes, 10 * Seeds().size());
  EXPECT_GT(power_losses, Seeds().size());
  EXPECT_GT(unknown, Seeds().size());
  EXPECT_GT(checkpoints, Seeds().size());
  EXPECT_GT(steps, Seeds().size());
  EXPECT_GT(expired, 0U);
  EXPECT_GT(left, 0U);
}

TEST(SimCrash, TheSameSeedGivesTheSameRun) {
  const SeedResult first = RunSeed(7), second = RunSeed(7), other = RunSeed(8);
  EXPECT_EQ(first.history, second.history);
  EXPECT_EQ(first.acked, second.acked);
  EXPECT_NE(first.history, other.history);
}

// Looks for what the bug must lead to, and says the first seed that shows it.
void ExpectFound(const Bugs& bugs, uint64_t Findings::*kind) {
  for (uint64_t seed = 1; seed <= kSeedsToFindABug; ++seed) {
    const SeedResult result = RunSeed(seed, bugs);
    if (result.findings.*kind == 0) continue;
    fmt::print("found by seed {}: {}\n", seed, result.Describe(Again()));
    return;
  }
  ADD_FAILURE() << "not found in " << kSeedsToFindABug << " seeds";
}

TEST(SimPlantedBugs, AcknowledgedBeforeItIsLogged) { ExpectFound(AckBeforeLog(), &Findings::lost); }

TEST(SimPlantedBugs, AcknowledgedBeforeItIsSynced) {
  ExpectFound(AckBeforeSync(), &Findings::lost);
}

TEST(SimPlantedBugs, RestartedWithoutItsWindows) {
  ExpectFound(ForgetWindows(), &Findings::doubled);
}

TEST(SimPlantedBugs, ManifestBeforeItsParts) { ExpectFound(ManifestFirst(), &Findings::wrong); }

}  // namespace
}  // namespace strata::sim
