// The tables that strata-worker makes on servers: never dropped silently, never left behind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "base/clock.h"
#include "tests/process/cluster/cluster_fixture.h"

namespace strata {
namespace {

// Waits for both workers of a cluster; true when both ended well.
bool BothEndWell(ClusterFixture& cluster) {
  bool well = true;
  for (const int rank : {0, 1}) {
    const auto end = cluster.worker(rank).Wait(60 * kSecond);
    well = well && end.has_value() && *end == ProcessEnd{};
  }
  return well;
}

bool HasTable(const ClusterFixture& cluster, const std::string& name) {
  return cluster.Admin({"tables"}).output.find(name) != std::string::npos;
}

TEST(WorkerTables, TrainingDropsNoneAndPredictionLeavesNone) {
  ClusterFixture cluster(2, 2);
  cluster.StartServers();
  const std::string model = "output.model=" + cluster.folder().File("model");
  cluster.StartWorkers({"train.epochs=1", model});
  ASSERT_TRUE(BothEndWell(cluster)) << cluster.worker(0).Errors();

  cluster.StartWorkers({"train.epochs=1"});
  for (const int rank : {0, 1}) {
    const auto end = cluster.worker(rank).Wait(60 * kSecond);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(*end, (ProcessEnd{2, 0}));
    const std::string errors = cluster.worker(rank).Errors();
    const size_t drop = errors.find("only if they may go: strata-admin table drop adult.embedding");
    EXPECT_NE(drop, std::string::npos) << errors;
    for (const char* first : {"checkpoint.every_steps", "another job.name", "checkpoint list"}) {
      EXPECT_LT(errors.find(first), drop) << errors;
    }
  }
  EXPECT_TRUE(HasTable(cluster, "adult.embedding"));

  // Enough rows to be in the middle of them when the signal comes.
  const std::string rows = ReadWholeFile(STRATA_SOURCE_DIR "/examples/adult/adult.test.csv");
  std::string many;
  for (int i = 0; i < 100; ++i) many += rows;
  WriteWholeFile(cluster.folder().File("many.csv"), many);
  cluster.StartWorkers({"--task=predict", model,
                        "output.predictions=" + cluster.folder().File("predictions.csv"),
                        "data.test=" + cluster.folder().File("many.csv")});
  const TimeNs deadline = RealClock().Now() + 30 * kSecond;
  while (!HasTable(cluster, "adult.predict.") && RealClock().Now() < deadline) {
  }
  cluster.worker(1).Signal(SIGTERM);
  const auto end = cluster.worker(1).Wait(20 * kSecond);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(*end, (ProcessEnd{1, 0})) << cluster.worker(1).Errors();
  EXPECT_TRUE(cluster.worker(0).Wait(20 * kSecond).has_value());
  EXPECT_FALSE(HasTable(cluster, "adult.predict."));
}

}  // namespace
}  // namespace strata
