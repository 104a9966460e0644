// Workers that are told their rank by a launcher's variables, or meet at one of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/process/cluster/cluster_fixture.h"
#include "tests/support/free_port.h"

namespace strata {
namespace {

const std::vector<std::string> kShort = {"train.epochs=1"};

// Starts worker after worker with the variables that `variables_of` gives its rank, and
// `arguments`. All have to end well; returns the result that rank 0 prints.
template <typename VariablesOf>
nlohmann::json Launch(const ClusterFixture& cluster, int workers, VariablesOf variables_of,
                      const std::vector<std::string>& arguments) {
  std::vector<std::unique_ptr<Process>> processes;
  for (int rank = workers - 1; rank >= 0; --rank) {
    ProcessOptions options{
        .arguments = {"--job=" + AdultJob(), "--config=" + cluster.config(), "--json"},
        .environment = variables_of(rank)};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.arguments.insert(options.arguments.end(), kShort.begin(), kShort.end());
    options.folder = cluster.folder().path();
    processes.push_back(
        std::make_unique<Process>(ProgramPath("strata-worker"), std::move(options)));
  }
  for (const auto& process : processes) {
    const auto end = process->Wait(120 * kSecond);
    EXPECT_TRUE(end.has_value() && end->code == 0) << process->Errors();
  }
  return LastJson(processes.back()->Output());
}

TEST(LaunchProcess, OpenMpiVariablesSayTheRank) {
  ClusterFixture cluster(1, 2);
  cluster.StartServers();
  const nlohmann::json last =
      Launch(cluster, 2,
             [](int rank) {
               return std::map<std::string, std::string>{
                   {"OMPI_COMM_WORLD_RANK", std::to_string(rank)}, {"OMPI_COMM_WORLD_SIZE", "2"}};
             },
             {});
  EXPECT_EQ(last["workers"], 2);
}

TEST(LaunchProcess, WorkersThatNothingListsMeetAtTheFirstOnesAddress) {
  ClusterFixture cluster(1, 0);
  cluster.StartServers();
  FreePort port;
  const std::string where = fmt::format("--rendezvous=127.0.0.1:{}", port.Release());
  const nlohmann::json last =
      Launch(cluster, 3,
             [](int rank) {
               return std::map<std::string, std::string>{{"SLURM_PROCID", std::to_string(rank)},
                                                         {"SLURM_NTASKS", "3"}};
             },
             {where});
  EXPECT_EQ(last["workers"], 3);
}

}  // namespace
}  // namespace strata
