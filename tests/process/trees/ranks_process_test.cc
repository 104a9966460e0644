// Trees over several strata-workers on loopback, started as people start them: by LightGBM's
// machine list alone and by a cluster file; and what the others say when one is killed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/support/free_port.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;

class RanksProcess : public ::testing::Test {
 protected:
  RanksProcess() {
    std::string rows;
    for (uint64_t row = 0; row < 900; ++row) {
      const auto uniform = [row](uint64_t seed) {
        return static_cast<double>(Mix64(row * 8 + seed) >> 11) * 0x1p-53;
      };
      const double x = uniform(1) * 4 - 2;
      const double y = uniform(2);
      rows += fmt::format("{},{:.4f},{:.4f},{}\n", x * y + uniform(3) > 0.4 ? 1 : 0, x, y, row % 7);
    }
    WriteWholeFile(folder_.File("train.csv"), rows);
  }

  // Ports are free until the workers take them.
  void PickPorts() {
    std::deque<FreePort> held(kRanks);
    ports_.clear();
    for (const FreePort& port : held) ports_.push_back(port.number());
    std::string list;
    for (const uint16_t port : ports_) list += fmt::format("127.0.0.1 {}\n", port);
    WriteWholeFile(folder_.File("mlist.txt"), list);
    WriteWholeFile(folder_.File("cluster.toml"),
                   "[cluster]\nname = \"trees\"\nmachines = \"mlist.txt\"\n");
  }

  void WriteConf(const std::string& more) const {
    WriteWholeFile(folder_.File("train.conf"),
                   "task = train\ndata = train.csv\nobjective = binary\nmetric = auc\n"
                   "is_provide_training_metric = true\nbagging_freq = 1\nbagging_fraction = 0.8\n"
                   "num_threads = 1\noutput_model = model.txt\nverbosity = -1\n" +
                       more);
  }

  Process Start(const std::vector<std::string>& arguments) const {
    ProcessOptions options{.arguments = {"--lightgbm_conf=train.conf", "--json"},
                           .folder = folder_.path()};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    return Process(ProgramPath("strata-worker"), std::move(options));
  }

  // Each rank finds itself by its port.
  std::deque<Process> StartByMachineList(const std::vector<std::string>& more) const {
    std::deque<Process> ranks;
    for (const uint16_t port : ports_) {
      std::vector<std::string> arguments = {"machine_list_filename=mlist.txt",
                                            fmt::format("num_machines={}", kRanks),
                                            fmt::format("local_listen_port={}", port)};
      arguments.insert(arguments.end(), more.begin(), more.end());
      ranks.push_back(Start(arguments));
    }
    return ranks;
  }

  static void ExpectDone(std::deque<Process>* ranks) {
    for (Process& rank : *ranks) {
      const auto end = rank.Wait();
      ASSERT_TRUE(end.has_value()) << rank.Errors();
      EXPECT_EQ(*end, ProcessEnd{}) << rank.Errors();
    }
  }

  std::string Model() const { return ReadWholeFile(folder_.File("model.txt")); }

  TempFolder folder_;
  std::vector<uint16_t> ports_;
};

TEST_F(RanksProcess, TheModelIsThatOfOneProcessHoweverRanksFindEachOther) {
  WriteConf("num_iterations = 12\n");
  Process alone = Start({});
  ASSERT_EQ(alone.Wait(), ProcessEnd{}) << alone.Errors();
  const std::string expected = Model();

  PickPorts();
  std::deque<Process> ranks = StartByMachineList({"tree_learner=data"});
  ExpectDone(&ranks);
  EXPECT_EQ(Model(), expected);
  EXPECT_THAT(ranks[1].Output(), HasSubstr("by rank 0"));

  PickPorts();
  WriteWholeFile(folder_.File("model.txt"), "");
  ranks.clear();
  const std::string machines =
      fmt::format("machines=127.0.0.1:{}", fmt::join(ports_, ",127.0.0.1:"));
  for (int rank = 0; rank < kRanks; ++rank) {
    // Ranks that are given and one that its port tells are ranks of the same list.
    const std::string place =
        rank == 1 ? fmt::format("--port={}", ports_[1]) : fmt::format("--rank={}", rank);
    ranks.push_back(Start(
        {rank == 0 ? "machine_list_filename=mlist.txt" : machines, place, "tree_learner=data"}));
  }
  ExpectDone(&ranks);
  EXPECT_EQ(Model(), expected);

  PickPorts();
  WriteWholeFile(folder_.File("model.txt"), "");
  ranks.clear();
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(
        Start({"--config=cluster.toml", fmt::format("--rank={}", rank), "tree_learner=feature"}));
  }
  ExpectDone(&ranks);
  EXPECT_EQ(Model(), expected);

  PickPorts();
  WriteWholeFile(folder_.File("model.txt"), "");
  ranks.clear();
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(
        Start({fmt::format("--rendezvous=127.0.0.1:{}", ports_[0]), fmt::format("--rank={}", rank),
               fmt::format("--world={}", kRanks), "tree_learner=data"}));
  }
  ExpectDone(&ranks);
  EXPECT_EQ(Model(), expected);
}

// A job file with categories that are texts, divided among the workers of a cluster file.
TEST_F(RanksProcess, AJobIsDividedAsAConfIs) {
  std::string rows = "y,town,x\n";
  for (uint64_t row = 0; row < 600; ++row) {
    const uint64_t town = row / 90 + Mix64(row) % 5;
    rows += fmt::format("{},town {},{}\n", (town % 3 + Mix64(row + 7) % 4) / 3, town, row % 11);
  }
  WriteWholeFile(folder_.File("towns.csv"), rows);
  WriteWholeFile(folder_.File("job.toml"),
                 "[model]\nkind = \"gbdt\"\n[data]\ntrain = \"towns.csv\"\nheader = true\n"
                 "label = \"y\"\n[[feature]]\nkind = \"categorical\"\ncolumns = [\"town\"]\n"
                 "[[feature]]\nkind = \"numeric\"\ncolumns = [\"x\"]\n[output]\n"
                 "model = \"model.txt\"\n[gbdt]\nobjective = \"binary\"\nnum_iterations = 5\n"
                 "num_threads = 1\nmin_data_per_group = 10\nmax_cat_to_onehot = 1\n");
  const auto start = [&](const std::vector<std::string>& more) {
    ProcessOptions options{.arguments = {"--job=job.toml", "--json"}, .folder = folder_.path()};
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    return Process(ProgramPath("strata-worker"), std::move(options));
  };
  Process alone = start({});
  ASSERT_EQ(alone.Wait(), ProcessEnd{}) << alone.Errors();
  const std::string expected = Model();
  EXPECT_THAT(expected, HasSubstr("pandas_categorical:[[\"town 0\",\"town 1\",\"town 10\","));
  PickPorts();
  WriteWholeFile(folder_.File("model.txt"), "");
  std::deque<Process> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(
        start({"--config=cluster.toml", fmt::format("--rank={}", rank), "gbdt.tree_learner=data"}));
  }
  ExpectDone(&ranks);
  EXPECT_EQ(Model(), expected);
}

TEST_F(RanksProcess, AKilledRankIsNamedByTheOthers) {
  WriteConf("num_iterations = 1000000\nsnapshot_freq = 5\n");
  PickPorts();
  std::deque<Process> ranks = StartByMachineList({"tree_learner=data"});
  ASSERT_TRUE(ranks[0].WaitForOutput("\"round\":5,")) << ranks[0].Errors();
  ranks[1].Signal(SIGKILL);
  for (const size_t rank : {0U, 2U}) {
    const auto end = ranks[rank].Wait();
    ASSERT_TRUE(end.has_value()) << "rank " << rank << " still runs";
    EXPECT_EQ(end->code, 3) << ranks[rank].Errors();
    EXPECT_THAT(ranks[rank].Errors(), HasSubstr(fmt::format("rank 1 (127.0.0.1:{})", ports_[1])));
  }
  EXPECT_THAT(ReadWholeFile(folder_.File("model.txt.snapshot_iter_5")), HasSubstr("Tree=4\n"));
}

TEST_F(RanksProcess, ASignalToOneEndsAll) {
  WriteConf("num_iterations = 1000000\n");
  PickPorts();
  std::deque<Process> ranks = StartByMachineList({"tree_learner=voting", "top_k=1"});
  ASSERT_TRUE(ranks[0].WaitForOutput("\"round\":2,")) << ranks[0].Errors();
  ranks[2].Signal(SIGTERM);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    const auto end = ranks[rank].Wait();
    ASSERT_TRUE(end.has_value()) << "rank " << rank << " still runs";
    EXPECT_EQ(end->code, rank == 2 ? 1 : 3) << ranks[rank].Errors();
    EXPECT_THAT(ranks[rank].Errors(), HasSubstr("stopped by SIGTERM"));
  }
}

// Bad settings end before anybody waits for anybody.
TEST_F(RanksProcess, WhatDoesNotFitIsSaidAtOnce) {
  WriteConf("num_iterations = 2\n");
  PickPorts();
  struct Case {
    std::vector<std::string> arguments;
    const char* message;
  };
  const std::string list = "machine_list_filename=mlist.txt";
  const std::string port = fmt::format("local_listen_port={}", ports_[0]);
  for (const Case& c : {
           Case{{"num_machines=3"}, "num_machines = 3: expected machine_list_filename"},
           Case{{"--rank=0"}, "--rank needs a machine list: set machine_list_filename, machines"},
           Case{{list, "--rank=0", "num_machines=1"}, "--rank and num_machines = 1"},
           Case{{list, "--rank=3", "tree_learner=data"}, "--rank=3 is out of range: mlist.txt"},
           Case{{list, "tree_learner=data"}, "say which with --rank or --port"},
           Case{{list, "num_machines=2"}, "lists 3 machines: expected as many"},
           Case{{list, port}, "tree_learner = serial trains alone, and there are 3 workers"},
           Case{{list, port, "task=predict", "input_model=none"}, "is done by one process"},
           Case{{list, "local_listen_port=1", "tree_learner=data"}, "mlist.txt"},
           Case{{list, "--config=cluster.toml"}, "exclude each other"},
           Case{{"machines=127.0.0.1", "tree_learner=data"}, "machines"},
           Case{{"machine_list_filename=nowhere.txt"}, "nowhere.txt"},
       }) {
    Process worker = Start(c.arguments);
    const auto end = worker.Wait();
    ASSERT_TRUE(end.has_value()) << c.message;
    EXPECT_EQ(end->code, 2) << worker.Errors();
    EXPECT_THAT(worker.Errors(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace strata
