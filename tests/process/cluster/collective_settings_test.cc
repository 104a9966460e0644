// The keys of [collective] on their way into the workers' groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/process/cluster/cluster_fixture.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What two workers log while they train.
std::vector<std::string> LogsOfTwo(const std::vector<std::string>& first,
                                   const std::vector<std::string>& second) {
  ClusterFixture cluster(1, 2,
                         "[collective]\nchoices = \"machine.tune\"\n[log]\nlevel = \"debug\"\n");
  WriteWholeFile(cluster.folder().File("machine.tune"),
                 "# measured\nallreduce 8 * ring\nbroadcast * * binomial\n");
  cluster.StartServers();
  cluster.StartWorker(0, first);
  cluster.StartWorker(1, second);
  std::vector<std::string> logs;
  for (const int rank : {0, 1}) {
    const auto end = cluster.worker(rank).Wait(120 * kSecond);
    logs.push_back(cluster.worker(rank).Errors());
    EXPECT_TRUE(end.has_value() && end->code == 0) << logs.back();
  }
  return logs;
}

TEST(CollectiveSettingsProcess, TheTableOfTheClusterFileDecidesAndTheLogSaysWhy) {
  const std::vector<std::string> flags = {"train.epochs=1"};
  for (const std::string& log : LogsOfTwo(flags, flags)) {
    EXPECT_THAT(log, AllOf(HasSubstr("group of 2: allreduce of "), HasSubstr(" bytes by ring: "),
                           HasSubstr("machine.tune table, rule 1: ranks up to 8, bytes up to *"),
                           Not(HasSubstr("go over sockets"))));
  }
}

TEST(CollectiveSettingsProcess, TheCommandLineComesBeforeTheTable) {
  const std::vector<std::string> flags = {"train.epochs=1", "--algorithms=allreduce=doubling"};
  std::vector<std::string> alone = flags;
  alone.push_back("--shared_memory=false");
  const std::vector<std::string> logs = LogsOfTwo(flags, alone);
  for (const std::string& log : logs) {
    EXPECT_THAT(log, AllOf(HasSubstr("bytes by doubling: --algorithms says so"),
                           Not(HasSubstr("allreduce of 8 bytes by ring"))));
  }
  EXPECT_THAT(logs[0], HasSubstr("go over sockets, not through shared memory: it is switched off"));
}

}  // namespace
}  // namespace strata
