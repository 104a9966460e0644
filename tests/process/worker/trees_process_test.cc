// strata-worker with boosted trees, as a person runs it: a job file, a LightGBM train.conf,
// signals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/process/worker/run_worker.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

const std::string kAdult = "--job=" STRATA_SOURCE_DIR "/examples/adult/trees.toml";

// The objects on standard output of a run that must do well; the last is the result.
std::vector<nlohmann::json> ObjectsOf(const ProcessResult& run) {
  EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
  std::vector<nlohmann::json> objects;
  for (const std::string& line : Lines(run.output)) {
    objects.push_back(nlohmann::json::parse(line, nullptr, false));
    EXPECT_TRUE(objects.back().is_object()) << line;
  }
  if (objects.empty()) objects.emplace_back();
  return objects;
}

// y is 1 where x0 > x1, mostly.
std::string SmallData(size_t rows) {
  std::string text;
  uint32_t state = 7;
  const auto next = [&state] { return (state = state * 1664525U + 1013904223U) >> 16; };
  for (size_t i = 0; i < rows; ++i) {
    const uint32_t a = next() % 1000;
    const uint32_t b = next() % 1000;
    const bool flipped = next() % 10 == 0;
    text += fmt::format("{}\t{}\t{}\t{}\n", (a > b) != flipped ? 1 : 0, a, b, next() % 7);
  }
  return text;
}

TEST(TreesProcess, AJobFileTrainsEvaluatesAndPredicts) {
  TempFolder folder;
  const std::string model = "output.model=" + folder.File("model.txt");
  const auto objects = ObjectsOf(RunWorker({kAdult, "--json", model, "gbdt.num_iterations=40",
                                            "gbdt.report_file=" + folder.File("report")}));
  ASSERT_EQ(objects.size(), 41U) << "one a round, and the result";
  for (size_t round = 1; round <= 40; ++round) {
    const nlohmann::json& object = objects[round - 1];
    EXPECT_EQ(object["task"], "train");
    EXPECT_EQ(object["round"], round);
    EXPECT_EQ(object["rounds"], 40);
    EXPECT_EQ(object["samples"], 32561 * round);
    EXPECT_DOUBLE_EQ(object["progress"].get<double>(), static_cast<double>(round) / 40);
    for (const char* key : {"samples_per_second", "eta_seconds"}) EXPECT_TRUE(object.contains(key));
    EXPECT_GT(object["metrics"]["training"]["auc"].get<double>(), 0.85);
    EXPECT_GT(object["metrics"]["valid_1"]["binary_logloss"].get<double>(), 0.2);
  }
  const nlohmann::json& trained = objects.back();
  EXPECT_EQ(trained["task"], "train");
  EXPECT_EQ(trained["samples"], 32561 * 40);
  EXPECT_GT(trained["seconds"].get<double>(), 0);
  EXPECT_GT(trained["samples_per_second"].get<double>(), 0);
  EXPECT_EQ(trained["rounds"], 40);
  EXPECT_GE(trained["metrics"]["auc"].get<double>(), 0.922);
  EXPECT_EQ(trained["metrics"]["auc"], trained["metrics"]["valid_1"]["auc"]);

  const auto evaluated = ObjectsOf(RunWorker({kAdult, "--json", model, "--task=evaluate"})).back();
  EXPECT_EQ(evaluated["task"], "evaluate");
  EXPECT_EQ(evaluated["samples"], 16281);
  for (const char* metric : {"auc", "binary_logloss"}) {
    EXPECT_NEAR(evaluated["metrics"][metric].get<double>(),
                trained["metrics"]["valid_1"][metric].get<double>(), 1e-12);
  }
  const std::string path = folder.File("predictions");
  const auto predicted = ObjectsOf(RunWorker({kAdult, "--json", model, "--task=predict",
                                              "output.predictions=" + path}))
                             .back();
  EXPECT_EQ(predicted["samples"], 16281);
  EXPECT_EQ(Lines(ReadWholeFile(path)).size(), 16281U);

  const auto report = nlohmann::json::parse(ReadWholeFile(folder.File("report.json")));
  EXPECT_EQ(report["rows"]["training"], 32561);
  EXPECT_EQ(report["learning_curves"]["auc"]["valid_1"].size(), 40U);
  EXPECT_GT(report["phase_seconds"]["histograms"].get<double>(), 0);
  EXPECT_NE(ReadWholeFile(folder.File("report.html")).find("<polyline"), std::string::npos);
}

TEST(TreesProcess, ATrainConfTrainsAndPredicts) {
  TempFolder folder;
  WriteWholeFile(folder.File("train.tsv"), SmallData(2000));
  WriteWholeFile(folder.File("test.tsv"), SmallData(300));
  WriteWholeFile(folder.File("train.conf"),
                 "task = train\nobjective = binary\nmetric = auc\n"
                 "num_trees = 20\nnum_leaf = 15\n");
  const std::string model = folder.File("model.txt");
  const auto trained =
      ObjectsOf(RunWorker({"--lightgbm-conf=" + folder.File("train.conf"), "--json",
                           "data=" + folder.File("train.tsv"), "valid=" + folder.File("test.tsv"),
                           "output_model=" + model}))
          .back();
  EXPECT_GT(trained["metrics"]["valid_1"]["auc"].get<double>(), 0.85);
  EXPECT_EQ(ReadWholeFile(model).rfind("tree\nversion=v4\n", 0), 0U);
  // The other spelling, and the task of the command line.
  const std::string out = folder.File("out.txt");
  const auto predicted =
      ObjectsOf(RunWorker({"--lightgbm_conf=" + folder.File("train.conf"), "--task=predict",
                           "--json", "data=" + folder.File("test.tsv"), "input_model=" + model,
                           "output_result=" + out}))
          .back();
  EXPECT_EQ(predicted["task"], "predict");
  EXPECT_EQ(Lines(ReadWholeFile(out)).size(), 300U);
}

TEST(TreesProcess, TheLogSaysWhichSideFilesAreUsed) {
  TempFolder folder;
  WriteWholeFile(folder.File("train.tsv"), SmallData(100));
  std::string ones;
  for (int row = 0; row < 100; ++row) ones += "1\n";
  for (const char* ending : {".weight", ".init"}) {
    WriteWholeFile(folder.File("train.tsv") + ending, ones);
  }
  WriteWholeFile(folder.File("train.tsv.query"), "60\n40\n");
  WriteWholeFile(folder.File("train.conf"), "objective = binary\nnum_iterations = 2\n");
  const auto errors = [&](const std::string& columns) {
    const ProcessResult run = RunWorker({"--lightgbm-conf=" + folder.File("train.conf"),
                                         "data=" + folder.File("train.tsv"),
                                         "output_model=" + folder.File("model.txt"), columns});
    EXPECT_EQ(run.end, ProcessEnd{}) << run.errors;
    return run.errors;
  };
  const std::string plain = errors("label_column=0");
  for (const char* text :
       {"train.tsv.weight: 100 weights are used", "train.tsv.init: scores of 100",
        "train.tsv.query: queries of 100 rows together are used"}) {
    EXPECT_NE(plain.find(text), std::string::npos) << text << "\n" << plain;
  }
  EXPECT_NE(errors("weight_column=0").find("train.tsv.weight: is not used: a column"),
            std::string::npos);
}

// What it says on the way may be lost, on stderr too; not the result.
TEST(TreesProcess, AResultThatFindsNoRoomIsAnErrorAndTheModelIsThere) {
  TempFolder folder;
  WriteWholeFile(folder.File("train.tsv"), SmallData(300));
  WriteWholeFile(folder.File("train.conf"), "objective = binary\nnum_iterations = 3\n");
  const std::string model = folder.File("model.txt");
  const auto run = [&](const char* what) {
    return RunOnFullDisk(ProgramPath("strata-worker"),
                         {"--lightgbm-conf=" + folder.File("train.conf"), "--json",
                          "data=" + folder.File("train.tsv"), "output_model=" + model},
                         what);
  };
  const ProcessResult untold = run("1");
  EXPECT_EQ(untold.end, ProcessEnd{1});
  EXPECT_NE(untold.errors.find("cannot write to stdout: No space left"), std::string::npos)
      << untold.errors;
  const std::string trained = ReadWholeFile(model);
  EXPECT_EQ(run("2").end, ProcessEnd{0});
  EXPECT_EQ(ReadWholeFile(model), trained);
}

TEST(TreesProcess, AStoppedTrainingLeavesASnapshotToGoOnFrom) {
  TempFolder folder;
  WriteWholeFile(folder.File("train.tsv"), SmallData(2000));
  WriteWholeFile(folder.File("train.conf"),
                 "objective = binary\nis_provide_training_metric = true\n"
                 "snapshot_freq = 1000000\n");
  const std::string conf = "--lightgbm-conf=" + folder.File("train.conf");
  const std::string data = "data=" + folder.File("train.tsv");
  const std::string model = folder.File("model.txt");
  Process worker(
      ProgramPath("strata-worker"),
      {.arguments = {conf, data, "--json", "num_iterations=10000000", "min_data_in_leaf=1",
                     "learning_rate=1e-5", "output_model=" + model}});
  ASSERT_TRUE(worker.WaitForOutput("\"round\":3,"));
  worker.Signal(SIGINT);
  EXPECT_EQ(worker.Wait(), (ProcessEnd{.code = 1, .signal = 0})) << worker.Errors();
  const std::string errors = worker.Errors();
  EXPECT_NE(errors.find("stopped by SIGINT after round "), std::string::npos) << errors;
  const size_t begin = errors.find("input_model = ");
  ASSERT_NE(begin, std::string::npos) << errors;
  const size_t path = begin + std::string("input_model = ").size();
  const std::string snapshot = errors.substr(path, errors.find(' ', path) - path);
  const auto rounds = std::stoul(snapshot.substr(snapshot.rfind('_') + 1));
  EXPECT_GE(rounds, 3U);
  const auto applied =
      ObjectsOf(RunWorker({conf, data, "--json", "--task=evaluate", "input_model=" + snapshot}));
  EXPECT_EQ(applied.back()["rounds"], rounds);
  const auto resumed = ObjectsOf(RunWorker({conf, data, "--json", "num_iterations=2",
                                            "input_model=" + snapshot, "output_model=" + model}));
  EXPECT_EQ(resumed.back()["rounds"], rounds + 2);
}

TEST(TreesProcess, AStoppedTrainingWithoutSnapshotsSaysHowToKeepThem) {
  TempFolder folder;
  WriteWholeFile(folder.File("train.tsv"), SmallData(2000));
  WriteWholeFile(folder.File("train.conf"),
                 "objective = binary\nis_provide_training_metric = true\n");
  Process worker(ProgramPath("strata-worker"),
                 {.arguments = {"--lightgbm-conf=" + folder.File("train.conf"),
                                "data=" + folder.File("train.tsv"), "--json",
                                "num_iterations=10000000", "min_data_in_leaf=1",
                                "learning_rate=1e-5", "output_model=" + folder.File("model.txt")}});
  ASSERT_TRUE(worker.WaitForOutput("\"round\":3,"));
  worker.Signal(SIGINT);
  EXPECT_EQ(worker.Wait(), (ProcessEnd{.code = 1, .signal = 0})) << worker.Errors();
  EXPECT_NE(worker.Errors().find("which is lost: snapshot_freq = N"), std::string::npos)
      << worker.Errors();
}

TEST(TreesProcess, MistakesEndWithExitCode2AndSayWhatToDo) {
  TempFolder folder;
  WriteWholeFile(folder.File("bad.conf"), "objective = binary\nnum_leafs = 7\n");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--lightgbm-conf=" + folder.File("bad.conf")},
       "bad.conf:2: unknown parameter 'num_leafs'; did you mean num_leaves?"},
      {{kAdult, "gbdt.num_leafs=7"}, "did you mean 'gbdt.num_leaves'?"},
      {{kAdult, "gbdt.num_leaves=1"}, "gbdt.num_leaves must be an integer from 2 to"},
      {{kAdult, "train.epochs=2"}, "train.epochs has no effect on model.kind = \"gbdt\""},
      {{kAdult, "model.kind=fm", "gbdt.num_leaves=7"},
       "gbdt.objective has no effect on model.kind = \"fm\""},
      {{kAdult, "--threads=2"}, "--threads has no effect on trees: set num_threads in [gbdt]"},
      {{kAdult, "--task=predict"}, "output.model is empty"},
  };
  for (const auto& [arguments, message] : cases) {
    const ProcessResult run = RunWorker(arguments);
    EXPECT_EQ(run.end.code, 2) << message;
    EXPECT_NE(run.errors.find(message), std::string::npos) << run.errors;
  }
}

}  // namespace
}  // namespace strata
