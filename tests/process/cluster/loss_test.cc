// Processes that die or fall silent in the middle of training: who says what, how soon, with which
// exit code. The bounds are those that the documentation promises.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/clock.h"
#include "tests/process/cluster/cluster_fixture.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using nlohmann::literals::operator""_json_pointer;

// Long enough never to end by itself.
const std::vector<std::string> kLong = {"train.epochs=100000"};

nlohmann::json Status(const ClusterFixture& cluster) {
  const ProcessResult run = cluster.Admin({"-o", "json", "status"});
  return nlohmann::json::parse(run.output, nullptr, false);
}

// Waits until all workers report a step beyond the first ones.
void WaitUntilTraining(const ClusterFixture& cluster, int workers) {
  ASSERT_TRUE(WaitUntil([&] {
    const nlohmann::json status = Status(cluster);
    if (!status.is_object()) return false;
    int training = 0;
    for (const auto& node : status["nodes"]) {
      if (node.value("/worker/step"_json_pointer, 0) > 3) ++training;
    }
    return training == workers;
  }));
}

// A cluster in the middle of training.
class TrainingCluster : public ClusterFixture {
 public:
  TrainingCluster(int servers, int workers, const std::string& server_lost = "5s")
      : ClusterFixture(servers, workers,
                       fmt::format("[timeouts]\nserver_lost = \"{}\"\n", server_lost)) {
    StartServers();
    StartWorkers(kLong);
    WaitUntilTraining(*this, workers);
  }
};

struct Ended {
  double seconds = 0;
  int code = 0;
  std::string errors;
};

Ended WaitForEnd(Process& process, TimeNs since) {
  const auto end = process.Wait(60 * kSecond);
  const double seconds = static_cast<double>(RealClock().Now() - since) / 1e9;
  if (!end.has_value()) {
    ADD_FAILURE() << "still running after 60 s: " << process.Errors();
    return {};
  }
  return {seconds, end->code, process.Errors()};
}

TEST(LossProcess, StatusHasEveryNodeWhileItTrains) {
  TrainingCluster cluster(2, 2);
  const nlohmann::json status = Status(cluster);
  ASSERT_EQ(status["nodes"].size(), 4U) << status.dump();
  for (const auto& node : status["nodes"]) EXPECT_TRUE(node["up"].get<bool>()) << node.dump();
}

TEST(LossProcess, AKilledWorkerIsNamedByAllOthersWithinTwoSeconds) {
  TrainingCluster cluster(1, 3);
  const TimeNs killed = RealClock().Now();
  cluster.worker(1).Signal(SIGKILL);
  for (const int rank : {0, 2}) {
    const Ended ended = WaitForEnd(cluster.worker(rank), killed);
    EXPECT_EQ(ended.code, 3) << ended.errors;
    EXPECT_LT(ended.seconds, 2.0);
    EXPECT_NE(ended.errors.find("rank 1 (" + cluster.worker_address(1) + ")"), std::string::npos)
        << ended.errors;
  }
}

TEST(LossProcess, AStoppedWorkerIsNamedByAllOthersWithinTenSeconds) {
  TrainingCluster cluster(1, 3);
  const TimeNs stopped = RealClock().Now();
  cluster.worker(2).Signal(SIGSTOP);
  for (const int rank : {0, 1}) {
    const Ended ended = WaitForEnd(cluster.worker(rank), stopped);
    EXPECT_EQ(ended.code, 3) << ended.errors;
    EXPECT_LT(ended.seconds, 12.0);  // ten seconds of silence, then the end of the process
    EXPECT_NE(ended.errors.find("rank 2 (" + cluster.worker_address(2) + ")"), std::string::npos)
        << ended.errors;
  }
}

void ExpectServerLoss(const Ended& ended, const std::string& address) {
  EXPECT_EQ(ended.code, 3) << ended.errors;
  EXPECT_NE(ended.errors.find(address), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("shards 512..1023"), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("acknowledged write"), std::string::npos) << ended.errors;
}

TEST(LossProcess, AKilledServerEndsTheJobAndSaysWhatIsGone) {
  TrainingCluster cluster(2, 2);
  const TimeNs killed = RealClock().Now();
  cluster.server(1).Signal(SIGKILL);
  const nlohmann::json status = Status(cluster);
  ASSERT_EQ(status["nodes"].size(), 4U) << status.dump();
  EXPECT_FALSE(status["nodes"][1]["up"].get<bool>()) << status.dump();
  for (const int rank : {0, 1}) {
    ExpectServerLoss(WaitForEnd(cluster.worker(rank), killed), cluster.server_address(1));
  }
}

TEST(LossProcess, AStalledJobSaysForWhichServerItWaits) {
  TrainingCluster cluster(2, 1, "10min");
  cluster.server(1).Signal(SIGSTOP);
  ASSERT_TRUE(cluster.worker(0).WaitForErrors("waiting for server 1 (" + cluster.server_address(1)))
      << cluster.worker(0).Errors();
  const nlohmann::json worker = Status(cluster)["nodes"][2];
  EXPECT_EQ(worker["state"], "waiting") << worker.dump();
  EXPECT_NE(worker["worker"]["waits_for"].get<std::string>().find(cluster.server_address(1)),
            std::string::npos)
      << worker.dump();
  EXPECT_GT(worker["worker"]["wait_seconds"].get<double>(), 1);
  cluster.server(1).Signal(SIGCONT);
  EXPECT_TRUE(cluster.worker(0).WaitForErrors("all servers serve again"))
      << cluster.worker(0).Errors();
  EXPECT_TRUE(WaitUntil([&] { return Status(cluster)["nodes"][2]["state"] == "training"; }));
}

TEST(LossProcess, AServerThatComesBackWithoutItsRowsEndsTheJobToo) {
  TrainingCluster cluster(2, 2);
  const TimeNs killed = RealClock().Now();
  cluster.server(1).Signal(SIGKILL);
  cluster.server(1).Wait();
  cluster.StartServer(1);
  for (const int rank : {0, 1}) {
    ExpectServerLoss(WaitForEnd(cluster.worker(rank), killed), cluster.server_address(1));
  }
}

}  // namespace
}  // namespace strata
