#include "tests/process/cluster/cluster_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/free_port.h"

namespace strata {

ClusterFixture::ClusterFixture(int servers, int workers, const std::string& more) {
  std::deque<FreePort> ports(static_cast<size_t>(servers + workers));
  std::string machines;
  for (int i = 0; i < servers + workers; ++i) {
    const std::string address = fmt::format("127.0.0.1:{}", ports[static_cast<size_t>(i)].number());
    machines += fmt::format("{} {}\n", address, i < servers ? "server" : "worker");
    (i < servers ? server_addresses_ : worker_addresses_).push_back(address);
  }
  WriteWholeFile(folder_.File("machines.txt"), machines);
  WriteWholeFile(config(), "[cluster]\nname = \"test\"\nmachines = \"machines.txt\"\n" + more);
  servers_.resize(static_cast<size_t>(servers));
  workers_.resize(static_cast<size_t>(workers));
}

void ClusterFixture::StartServer(int rank) {
  auto& place = servers_[static_cast<size_t>(rank)];
  ProcessOptions options{.arguments = {"--config=" + config(), fmt::format("--rank={}", rank)}};
  if (keep_data_) {
    options.arguments.push_back(
        fmt::format("--data={}", folder_.File(fmt::format("data-{}", rank))));
    options.arguments.push_back("--checkpoints=" + folder_.File("checkpoints"));
  } else {
    options.arguments.push_back("--memory_only");
  }
  place = std::make_unique<Process>(ProgramPath("strata-server"), std::move(options));
  ASSERT_TRUE(place->WaitForOutput("ready")) << place->Errors();
}

void ClusterFixture::StartServers() {
  for (size_t rank = 0; rank < servers_.size(); ++rank) StartServer(static_cast<int>(rank));
}

void ClusterFixture::StartWorker(int rank, const std::vector<std::string>& overrides) {
  ProcessOptions options{.arguments = {"--job=" + AdultJob(), "--config=" + config(),
                                       fmt::format("--rank={}", rank), "--json"}};
  options.arguments.insert(options.arguments.end(), overrides.begin(), overrides.end());
  options.folder = folder_.path();
  workers_[static_cast<size_t>(rank)] =
      std::make_unique<Process>(ProgramPath("strata-worker"), std::move(options));
}

void ClusterFixture::StartWorkers(const std::vector<std::string>& overrides) {
  for (size_t rank = 0; rank < workers_.size(); ++rank) {
    StartWorker(static_cast<int>(rank), overrides);
  }
}

ProcessResult ClusterFixture::Admin(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "--config=" + config());
  return RunProcess(ProgramPath("strata-admin"), {.arguments = std::move(arguments)});
}

std::string AdultJob() { return std::string(STRATA_SOURCE_DIR) + "/examples/adult/job.toml"; }

nlohmann::json LastJson(const std::string& output) {
  const size_t end = output.find_last_not_of('\n');
  EXPECT_NE(end, std::string::npos) << "no output";
  if (end == std::string::npos) return {};
  const size_t before = output.rfind('\n', end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return nlohmann::json::parse(output.substr(begin, end - begin + 1));
}

nlohmann::json TrainOn(int servers, int workers, std::vector<std::string> overrides,
                       const std::string& model) {
  TempFolder scratch;
  overrides.push_back("output.model=" + (model.empty() ? scratch.File("model") : model));
  if (servers == 0) {
    ProcessOptions options{.arguments = {"--job=" + AdultJob(), "--json"}};
    options.arguments.insert(options.arguments.end(), overrides.begin(), overrides.end());
    const ProcessResult run = RunProcess(ProgramPath("strata-worker"), std::move(options));
    EXPECT_EQ(run.end.code, 0) << run.errors;
    return LastJson(run.output);
  }
  ClusterFixture cluster(servers, workers);
  cluster.StartServers();
  cluster.StartWorkers(overrides);
  for (int rank = 0; rank < workers; ++rank) {
    const auto end = cluster.worker(rank).Wait(120 * kSecond);
    EXPECT_TRUE(end.has_value() && end->code == 0)
        << "worker " << rank << ": " << cluster.worker(rank).Errors();
  }
  return LastJson(cluster.worker(0).Output());
}

}  // namespace strata
