// One job, many shapes of cluster: quality does not depend on the shape, and neither do the bits
// where that is promised.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/process/cluster/cluster_fixture.h"

namespace strata {
namespace {

const std::vector<std::string> kShort = {"train.epochs=1"};

TEST(TrainingProcess, TheSameJobLearnsTheSameOnAnyCluster) {
  std::vector<double> aucs;
  for (const auto& [servers, workers] : {std::pair{0, 1}, {1, 1}, {2, 2}, {3, 3}}) {
    const nlohmann::json last = TrainOn(servers, workers, kShort);
    ASSERT_TRUE(last.contains("metrics")) << last.dump();
    EXPECT_EQ(last["servers"], servers);
    EXPECT_EQ(last["workers"], workers);
    aucs.push_back(last["metrics"]["auc"].get<double>());
  }
  const auto [low, high] = std::minmax_element(aucs.begin(), aucs.end());
  EXPECT_GT(*low, 0.9);
  EXPECT_LT(*high - *low, 0.003) << testing::PrintToString(aucs);
}

TEST(TrainingProcess, TablesAreBitIdenticalBetweenRunsAndNumbersOfServers) {
  const std::vector<std::string> files = {"sparse-1.bin", "dense-1.bin"};
  TempFolder folder;
  TrainOn(1, 2, kShort, folder.File("first"));
  TrainOn(1, 2, kShort, folder.File("again"));
  TrainOn(3, 2, kShort, folder.File("three"));
  TrainOn(0, 1, kShort, folder.File("embedded"));
  TrainOn(2, 1, kShort, folder.File("alone"));
  for (const std::string& file : files) {
    const std::string first = ReadWholeFile(folder.File("first") + "/" + file);
    EXPECT_GT(first.size(), 100U);
    EXPECT_TRUE(first == ReadWholeFile(folder.File("again") + "/" + file)) << file;
    EXPECT_TRUE(first == ReadWholeFile(folder.File("three") + "/" + file)) << file;
    const std::string embedded = ReadWholeFile(folder.File("embedded") + "/" + file);
    EXPECT_TRUE(embedded == ReadWholeFile(folder.File("alone") + "/" + file)) << file;
    // Two workers sum in another order than one: were these equal, nothing would be compared.
    EXPECT_FALSE(first == embedded) << file;
  }
}

// The keys of a large batch are divided among connections, whose bytes lanes get in any order.
TEST(TrainingProcess, SeveralConnectionsOfAWorkerChangeNoBit) {
  const std::vector<std::string> large = {"train.epochs=4", "train.batch_size=16384"};
  TempFolder folder;
  TrainOn(0, 1, large, folder.File("embedded"));
  TrainOn(2, 1, large, folder.File("servers"));
  TrainOn(1, 2, large, folder.File("two ranks"));
  TrainOn(2, 2, large, folder.File("again"));
  for (const std::string file : {"sparse-1.bin", "dense-1.bin"}) {
    const std::string embedded = ReadWholeFile(folder.File("embedded") + "/" + file);
    EXPECT_GT(embedded.size(), 100U);
    EXPECT_TRUE(embedded == ReadWholeFile(folder.File("servers") + "/" + file)) << file;
    EXPECT_TRUE(ReadWholeFile(folder.File("two ranks") + "/" + file) ==
                ReadWholeFile(folder.File("again") + "/" + file))
        << file;
  }
}

// Updates of several workers are under way on several servers when each of them evaluates.
TEST(TrainingProcess, EvaluationsBetweenStepsChangeNoBitAndTheBestModelIsKept) {
  TempFolder folder;
  TrainOn(2, 2, kShort, folder.File("plain"));
  TrainOn(2, 2, {"train.epochs=1", "train.eval_every_steps=9"}, folder.File("evaluated"));
  for (const std::string file : {"sparse-1.bin", "dense-1.bin"}) {
    const std::string plain = ReadWholeFile(folder.File("plain") + "/" + file);
    EXPECT_GT(plain.size(), 100U);
    EXPECT_TRUE(plain == ReadWholeFile(folder.File("evaluated") + "/" + file)) << file;
  }
  const nlohmann::json best =
      TrainOn(2, 2, {"train.epochs=3", "train.eval_every_steps=16", "train.early_stopping=2"},
              folder.File("best"));
  ASSERT_TRUE(best.contains("early_stopping")) << best.dump();
  EXPECT_EQ(best["early_stopping"]["best_by"], "auc");
  EXPECT_GT(best["early_stopping"]["best_step"], 0);
  EXPECT_GT(best["stages"]["allreduce"]["max_seconds"], 0);
  const ProcessResult evaluated =
      RunProcess(ProgramPath("strata-worker"),
                 {.arguments = {"--job=" + AdultJob(), "--task=evaluate", "--json",
                                "output.model=" + folder.File("best")}});
  EXPECT_EQ(LastJson(evaluated.output)["metrics"], best["metrics"]);
}

// Rows on disk are saved like those in memory, however many they are: more than a page of a scan in
// each lane, and more than the servers keep in memory.
TEST(TrainingProcess, AServerWithAColdTierSavesTheModelOfOneWithout) {
  TempFolder folder;
  std::string samples;
  for (int i = 0; i < 20'000; ++i) samples += fmt::format("u{},c{},{}\n", i, i % 7, i % 2);
  WriteWholeFile(folder.File("train.csv"), samples);
  WriteWholeFile(folder.File("job.toml"),
                 "[job]\nname = \"many-rows\"\n"
                 "[data]\ntrain = \"train.csv\"\ncolumns = [\"u\", \"c\", \"y\"]\nlabel = \"y\"\n"
                 "[[feature]]\nkind = \"categorical\"\ncolumns = [\"u\", \"c\"]\n"
                 "[model]\nkind = \"deepfm\"\nembedding_dim = 64\nhidden = [4]\n"
                 "[train]\nepochs = 1\n");
  const auto train = [&](const std::string& server, const std::string& model) {
    ClusterFixture cluster(1, 1, server);
    cluster.KeepData();
    cluster.StartServers();
    const ProcessResult run = RunProcess(
        ProgramPath("strata-worker"),
        {.arguments = {"--job=" + folder.File("job.toml"), "--config=" + cluster.config(),
                       "--rank=0", "output.model=" + folder.File(model)}});
    EXPECT_EQ(run.end.code, 0) << run.errors;
  };
  train("", "memory");
  train("[server]\nmemory = \"16MiB\"\ncold = true\n", "cold");
  for (const auto& [file, bytes_min] :
       {std::pair{"sparse-1.bin", 5'000'000U}, {"dense-1.bin", 100U}}) {
    const std::string expected = ReadWholeFile(folder.File("memory") + "/" + file);
    EXPECT_GT(expected.size(), bytes_min);
    EXPECT_TRUE(expected == ReadWholeFile(folder.File("cold") + "/" + file)) << file;
  }
}

}  // namespace
}  // namespace strata
