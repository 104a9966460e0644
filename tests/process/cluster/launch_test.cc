// Workers that are told their rank by a launcher's variables, or meet at one of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/process/cluster/cluster_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

constexpr const char* kShort = "train.epochs=1";

// Starts worker after worker with the variables that `variables_of` gives its rank, and
// `arguments`; the last first.
template <typename VariablesOf>
std::vector<std::unique_ptr<Process>> Start(const ClusterFixture& cluster, int workers,
                                            VariablesOf variables_of,
                                            const std::vector<std::string>& arguments) {
  std::vector<std::unique_ptr<Process>> processes;
  for (int rank = workers - 1; rank >= 0; --rank) {
    ProcessOptions options{
        .arguments = {"--job=" + AdultJob(), "--config=" + cluster.config(), "--json"},
        .environment = variables_of(rank)};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.folder = cluster.folder().path();
    processes.push_back(
        std::make_unique<Process>(ProgramPath("strata-worker"), std::move(options)));
  }
  return processes;
}

// All have to end well; returns the result that rank 0 prints.
nlohmann::json ResultOf(const std::vector<std::unique_ptr<Process>>& processes) {
  for (const auto& process : processes) {
    const auto end = process->Wait(120 * kSecond);
    EXPECT_TRUE(end.has_value() && end->code == 0) << process->Errors();
  }
  return LastJson(processes.back()->Output());
}

std::map<std::string, std::string> SlurmVariables(int rank) {
  return {{"SLURM_PROCID", std::to_string(rank)}, {"SLURM_NTASKS", "3"}};
}

TEST(LaunchProcess, OpenMpiVariablesSayTheRank) {
  ClusterFixture cluster(1, 2);
  cluster.StartServers();
  const auto variables = [](int rank) {
    return std::map<std::string, std::string>{{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
                                              {"OMPI_COMM_WORLD_SIZE", "2"}};
  };
  EXPECT_EQ(ResultOf(Start(cluster, 2, variables, {kShort}))["workers"], 2);
}

TEST(LaunchProcess, WorkersThatNothingListsMeetAtTheFirstOnesAddress) {
  ClusterFixture cluster(1, 0);
  cluster.StartServers();
  FreePort port;
  const std::string where = fmt::format("--rendezvous=127.0.0.1:{}", port.Release());
  EXPECT_EQ(ResultOf(Start(cluster, 3, SlurmVariables, {where, kShort}))["workers"], 3);
}

TEST(LaunchProcess, StatusFindsWorkersThatNothingLists) {
  ClusterFixture cluster(1, 0);
  cluster.StartServers();
  FreePort port;
  const std::string where = fmt::format("--rendezvous=127.0.0.1:{}", port.Release());
  const std::vector<std::string> status = {"status", where, "--output=json"};
  const ProcessResult before = cluster.Admin(status);
  EXPECT_EQ(before.end.code, 0) << before.output;         // no job runs
  EXPECT_EQ(LastJson(before.output)["nodes"].size(), 2);  // the server, and worker 0, which is down
  EXPECT_EQ(cluster.Admin({"status", where, "--expect-workers"}).end.code, 3);

  const auto workers = Start(cluster, 3, SlurmVariables, {where, "train.epochs=100000"});
  const auto all_train = [&] {
    const ProcessResult result = cluster.Admin(status);
    if (result.end.code != 0) return false;
    const nlohmann::json nodes = LastJson(result.output)["nodes"];
    if (nodes.size() != 4) return false;
    for (int rank = 0; rank < 3; ++rank) {
      const nlohmann::json& node = nodes[static_cast<size_t>(rank) + 1];
      if (node["role"] != "worker" || node["rank"] != rank || !node.contains("worker"))
        return false;
    }
    return true;
  };
  EXPECT_TRUE(WaitUntil(all_train)) << cluster.Admin(status).output;
}

}  // namespace
}  // namespace strata
