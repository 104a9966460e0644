// strata-worker alone, as a person runs it: the example job, a job of its own, signals, output.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/process/worker/run_worker.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/xor_data.h"

namespace strata {
namespace {

const std::string kAdult = "--job=" STRATA_SOURCE_DIR "/examples/adult/job.toml";

// Of files that XorCsv has written.
constexpr char kXorJob[] = R"([data]
train = "train.csv"
test = "test.csv"
columns = ["left", "right", "label"]
label = "label"
[[feature]]
columns = ["left", "right"]
[sparse]
learning_rate = 0.1
init_scale = 0.1
[train]
batch_size = 128
epochs = 6
)";

// The result of a run that must do well. With --json every line of standard output is an object.
nlohmann::json ResultOf(const ProcessResult& run) {
  EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
  nlohmann::json last;
  for (const std::string& line : Lines(run.output)) {
    last = nlohmann::json::parse(line, nullptr, false);
    EXPECT_TRUE(last.is_object()) << line;
  }
  return last;
}

TEST(WorkerProcess, LearnsAdultSavesItAndAppliesIt) {
  TempFolder folder;
  const std::string model = "output.model=" + folder.File("model");
  const auto trained = ResultOf(RunWorker({kAdult, "--json", model}));
  EXPECT_EQ(trained["task"], "train");
  EXPECT_EQ(trained["workers"], 1);
  EXPECT_EQ(trained["servers"], 0);
  EXPECT_EQ(trained["samples"].get<int>() % 32561, 0);
  EXPECT_GT(trained["seconds"].get<double>(), 0);
  EXPECT_GT(trained["samples_per_second"].get<double>(), 0);
  EXPECT_GE(trained["metrics"]["auc"].get<double>(), 0.924);
  EXPECT_LE(trained["metrics"]["logloss"].get<double>(), 0.283);
  EXPECT_NEAR(trained["metrics"]["calibration"].get<double>(), 1, 0.15);

  const auto evaluated = ResultOf(RunWorker({kAdult, "--json", model, "--task=evaluate"}));
  EXPECT_EQ(evaluated["task"], "evaluate");
  EXPECT_EQ(evaluated["metrics"], trained["metrics"]) << "to the last digit";

  const std::string path = folder.File("predictions.csv");
  const auto predicted = ResultOf(
      RunWorker({kAdult, "--json", model, "--task=predict", "output.predictions=" + path}));
  EXPECT_EQ(predicted["samples"], 16281);
  const auto lines = Lines(ReadWholeFile(path));
  ASSERT_EQ(lines.size(), 16281U);
  double sum = 0;
  for (size_t row = 0; row < lines.size(); ++row) {
    const std::string prefix = std::to_string(row) + ",";
    ASSERT_EQ(lines[row].substr(0, prefix.size()), prefix);
    const double probability = std::strtod(lines[row].c_str() + prefix.size(), nullptr);
    ASSERT_GE(probability, 0);
    ASSERT_LE(probability, 1);
    sum += probability;
  }
  constexpr double kPositives = 3846;  // rows above 50,000 dollars in adult.test.csv
  EXPECT_NEAR(sum / kPositives, trained["metrics"]["calibration"].get<double>(), 1e-6);
}

TEST(WorkerProcess, ShowsTheLayersOfAJobAndTrainsThem) {
  const std::string job = "--job=" STRATA_SOURCE_DIR "/examples/adult/layers.toml";
  const auto shown = ResultOf(RunWorker({job, "--json", "--print-graph"}));
  EXPECT_EQ(shown["slots"], 13);
  EXPECT_EQ(shown["layers"].back()["name"], "logit");
  EXPECT_EQ(shown["layers"].back()["width"], 1);
  const ProcessResult table = RunWorker({job, "--print-graph"});
  EXPECT_NE(table.output.find("deep.1           linear                64"), std::string::npos)
      << table.output;
  EXPECT_NE(table.output.find("[[layer]]\nname = \"deep.1\"\n"), std::string::npos);
  const auto trained = ResultOf(RunWorker({job, "--json", "train.epochs=4"}));
  EXPECT_GE(trained["metrics"]["auc"].get<double>(), 0.92);
}

TEST(WorkerProcess, XorNeedsInteractions) {
  TempFolder folder;
  WriteWholeFile(folder.File("train.csv"), XorCsv(8000, 20, 1));
  WriteWholeFile(folder.File("test.csv"), XorCsv(2000, 20, 2));
  WriteWholeFile(folder.File("job.toml"), kXorJob);
  const auto auc_of = [&](const std::string& kind) {
    return ResultOf(RunWorker(
        {"--job=" + folder.File("job.toml"), "--json", "model.kind=" + kind}))["metrics"]["auc"]
        .get<double>();
  };
  EXPECT_LT(auc_of("logistic"), 0.55);
  EXPECT_GE(auc_of("fm"), 0.95);
  EXPECT_GE(auc_of("deepfm"), 0.95);
}

// Where a loss is no number the run ends, and says which number was the first. Where all are finite
// it says that the model is worse than a constant.
TEST(WorkerProcess, AModelThatDivergesIsToldOf) {
  TempFolder folder;
  const std::string rows = XorCsv(4000, 20, 1);
  std::string reversed = rows;
  for (size_t at = 0; (at = reversed.find('\n', at)) != std::string::npos; ++at) {
    reversed[at - 1] = reversed[at - 1] == '0' ? '1' : '0';
  }
  WriteWholeFile(folder.File("train.csv"), rows);
  WriteWholeFile(folder.File("test.csv"), reversed);
  WriteWholeFile(folder.File("job.toml"), kXorJob);
  const std::string job = "--job=" + folder.File("job.toml");
  const ProcessResult diverged = RunWorker({job, "sparse.optimizer=sgd", "sparse.learning_rate=1e6",
                                            "dense.optimizer=sgd", "dense.learning_rate=1e6"});
  EXPECT_EQ(diverged.end, ProcessEnd{1});
  EXPECT_NE(diverged.errors.find("the loss is nan: "), std::string::npos) << diverged.errors;
  EXPECT_NE(diverged.errors.find("layer '"), std::string::npos) << diverged.errors;
  const ProcessResult far = RunWorker({job});
  EXPECT_EQ(far.end, ProcessEnd{});
  EXPECT_NE(far.errors.find("the evaluation on data.test has logloss "), std::string::npos);
  EXPECT_NE(far.errors.find(", far above 0.693"), std::string::npos) << far.errors;
}

TEST(WorkerProcess, AResultThatFindsNoRoomIsAnError) {
  TempFolder folder;
  WriteWholeFile(folder.File("train.csv"), XorCsv(500, 20, 1));
  WriteWholeFile(folder.File("job.toml"), R"([data]
train = "train.csv"
columns = ["left", "right", "label"]
label = "label"
[[feature]]
columns = ["left", "right"]
)");
  for (const char* ask : {"--json", "--help"}) {
    const ProcessResult untold =
        RunOnFullDisk(ProgramPath("strata-worker"), {"--job=" + folder.File("job.toml"), ask});
    EXPECT_EQ(untold.end, ProcessEnd{1}) << ask;
    EXPECT_NE(untold.errors.find("cannot write to stdout: No space left"), std::string::npos)
        << untold.errors;
  }
}

TEST(WorkerProcess, MistakesInPathsAreFoundBeforeTraining) {
  TempFolder folder;
  WriteWholeFile(folder.File("file"), "x");
  WriteWholeFile(folder.File("bad.csv"), std::string(40, '\n') + "1,2\n");
  const std::pair<std::string, std::string> cases[] = {
      {"data.train=" + folder.File("none.csv"), "command line: data.train: "},
      {"data.train=" + folder.File("."), "command line: data.train: "},
      {"data.test=" + folder.File("bad.csv"), "command line: data.test: "},
      {"output.model=" + folder.File("file") + "/model", "command line: output.model = "},
      {"output.model=" + folder.File("file"), "command line: output.model = "},
  };
  for (const auto& [change, message] : cases) {
    const ProcessResult run = RunWorker({kAdult, "train.epochs=1000000", change});
    EXPECT_EQ(run.end, (ProcessEnd{2, 0})) << change << run.errors;
    EXPECT_NE(run.errors.find(message), std::string::npos) << run.errors;
  }
  const std::string predictions = "output.predictions=" + folder.File("none/predictions.csv");
  const ProcessResult run = RunWorker({kAdult, "--task=predict", predictions, "output.model=m"});
  EXPECT_EQ(run.end, (ProcessEnd{2, 0}));
  EXPECT_NE(run.errors.find("command line: output.predictions = "), std::string::npos)
      << run.errors;
}

TEST(WorkerProcess, ASignalEndsItSoonAndSaysSo) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Process worker(ProgramPath("strata-worker"),
                   {.arguments = {kAdult, "--json", "train.epochs=1000000"}});
    ASSERT_TRUE(worker.WaitForOutput("\"progress\"")) << worker.Errors();
    worker.Signal(signal);
    const auto end = worker.Wait(20 * kSecond);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(*end, (ProcessEnd{1, 0}));
    EXPECT_NE(worker.Errors().find(signal == SIGTERM ? "stopped by SIGTERM" : "stopped by SIGINT"),
              std::string::npos)
        << worker.Errors();
  }
}

TEST(WorkerProcess, ASignalToAJobWithCheckpointsTakesALastOneAndSaysHowToGoOn) {
  const TempFolder folder;
  const std::vector<std::string> words = {kAdult, "--json", "train.epochs=1000000",
                                          "checkpoint.every_steps=1000000",
                                          "checkpoint.folder=" + folder.File("checkpoints")};
  Process worker(ProgramPath("strata-worker"), {.arguments = words});
  ASSERT_TRUE(worker.WaitForOutput("\"progress\"")) << worker.Errors();
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.Wait(60 * kSecond), (ProcessEnd{1, 0}));
  EXPECT_NE(worker.Errors().find("stopped by SIGTERM after step "), std::string::npos)
      << worker.Errors();
  EXPECT_NE(
      worker.Errors().find("checkpoint 2 holds all of it; to go on, start the same job again"),
      std::string::npos)
      << worker.Errors();
}

TEST(WorkerProcess, ServersOnTheCommandLineMakeItAWorkerOfACluster) {
  Process worker(ProgramPath("strata-worker"),
                 {.arguments = {kAdult, "--servers=127.0.0.1:1", "train.epochs=1000000"}});
  ASSERT_TRUE(worker.WaitForErrors("no answer from server 0 (127.0.0.1:1)")) << worker.Errors();
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.Wait(20 * kSecond), (ProcessEnd{1, 0}));
}

TEST(WorkerProcess, ForPeopleThereIsATable) {
  const ProcessResult run = RunWorker({kAdult, "train.epochs=1", "model.kind=fm"});
  EXPECT_EQ(run.end, ProcessEnd{});
  EXPECT_NE(run.output.find("adult (fm)"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("AUC"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find('{'), std::string::npos) << run.output;
  EXPECT_NE(run.errors.find("train    100 %"), std::string::npos) << run.errors;
}

TEST(WorkerProcess, HelpAndVersion) {
  const ProcessResult help = RunWorker({"--help"});
  EXPECT_EQ(help.end, ProcessEnd{});
  for (const char* flag : {"--job", "--task", "--json", "--threads", "--config", "--rank"}) {
    EXPECT_NE(help.output.find(flag), std::string::npos) << flag;
  }
  EXPECT_EQ(RunWorker({"--version"}).output.substr(0, 14), "strata-worker ");
}

}  // namespace
}  // namespace strata
