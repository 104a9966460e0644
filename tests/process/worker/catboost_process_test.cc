// strata-worker with a model of CatBoost, as a person runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/worker/run_worker.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kGolden = STRATA_SOURCE_DIR "/tests/golden/catboost/";

TEST(CatBoostProcess, PredictsIntoAFileAndOntoStandardOutput) {
  const TempFolder folder;
  const std::string out = folder.File("out.tsv");
  std::vector<std::string> words = {"--task=predict", "model_file=" + kGolden + "types.json",
                                    "input_path=" + kGolden + "rows.tsv",
                                    "column_description=" + kGolden + "rows.cd"};
  const auto run = [&words](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return RunWorker(all);
  };
  const ProcessResult table = run({"output_path=" + out});
  ASSERT_EQ(table.end, ProcessEnd{}) << table.errors;
  EXPECT_THAT(table.output, HasSubstr("rows          40\n"));
  EXPECT_THAT(table.output, HasSubstr("written       " + out + "\n"));
  const ProcessResult streamed = run({"output_path=-"});
  ASSERT_EQ(streamed.end, ProcessEnd{}) << streamed.errors;
  EXPECT_EQ(streamed.output, ReadWholeFile(out));
  EXPECT_THAT(streamed.errors, HasSubstr("rows          40\n"));
  const ProcessResult object = run({"--json", "output_path=" + out});
  ASSERT_EQ(object.end, ProcessEnd{}) << object.errors;
  const nlohmann::json result = nlohmann::json::parse(object.output);
  EXPECT_EQ(result["task"], "predict");
  EXPECT_EQ(result["rows"], 40);
  // Rows of standard input.
  words[2] = "input_path=-";
  words.push_back("output_path=-");
  const ProcessResult piped =
      RunProcess(ProgramPath("strata-worker"),
                 {.arguments = words, .input = ReadWholeFile(kGolden + "rows.tsv")});
  ASSERT_EQ(piped.end, ProcessEnd{}) << piped.errors;
  EXPECT_EQ(piped.output, streamed.output);
}

TEST(CatBoostProcess, Trains) {
  const TempFolder folder;
  const std::string rows = kGolden + "training/";
  const std::string params = "--catboost-params=" + rows + "params.json";
  const std::vector<std::string> words = {params, "learn_set=" + rows + "learn.tsv",
                                          "test_set=" + rows + "test.tsv",
                                          "cd=" + rows + "rows.cd"};
  const auto run = [&words](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return RunWorker(all);
  };
  const std::string model = folder.File("m.json");
  const ProcessResult table = run({"model_file=" + model});
  ASSERT_EQ(table.end, ProcessEnd{}) << table.errors;
  EXPECT_THAT(table.output, HasSubstr("rows          160\n"));
  EXPECT_THAT(table.output, HasSubstr("test          RMSE 0.71"));
  // A line a round, and CatBoost's words of the best one.
  for (const char* const round :
       {"1 of 4  training RMSE", "2 of 4  tr", "3 of 4  tr", "4 of 4  tr"}) {
    EXPECT_THAT(table.errors, HasSubstr(std::string("round ") + round));
  }
  EXPECT_THAT(table.errors, HasSubstr("bestTest = 0.71"));
  EXPECT_THAT(table.errors, HasSubstr("bestIteration = 3\n"));
  EXPECT_THAT(table.errors, Not(HasSubstr("Shrink model")));
  EXPECT_THAT(run({"model_file=" + model, "metric_period=4"}).errors,
              AllOf(Not(HasSubstr("round 3 of 4")), HasSubstr("round 4 of 4")));
  EXPECT_THAT(run({"model_file=" + model, "verbose=false"}).errors, Not(HasSubstr("best")));
  const ProcessResult streamed = run({"model_file=-"});
  ASSERT_EQ(streamed.end, ProcessEnd{}) << streamed.errors;
  EXPECT_EQ(streamed.output, ReadWholeFile(model));
  EXPECT_THAT(streamed.errors, HasSubstr("rows          160\n"));
  const ProcessResult objects = run({"--json", "model_file=" + model, "iterations=3"});
  ASSERT_EQ(objects.end, ProcessEnd{}) << objects.errors;
  std::istringstream lines(objects.output);
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(found.size(), 4U) << "a line a round, and the result";
  EXPECT_EQ(found[1]["round"], 2);
  EXPECT_EQ(found[3]["task"], "train");
  EXPECT_EQ(found[3]["metrics"]["RMSE"], found[2]["metrics"]["test"]["RMSE"]);
  // The best round of twelve is the first.
  const std::vector<std::string> ends_early = {"iterations=12", "learning_rate=3", "od_wait=2",
                                               "model_file=" + model};
  const ProcessResult ended = run(ends_early);
  EXPECT_THAT(
      ended.output,
      HasSubstr("stopped       no improvement on test rows in 2 rounds (od_type = Iter)\n"));
  EXPECT_THAT(ended.errors, HasSubstr("Shrink model to first 1 iterations.\n"));
  std::vector<std::string> as_json = ends_early;
  as_json.emplace_back("--json");
  EXPECT_THAT(run(as_json).output, HasSubstr(R"("stop_reason":"no improvement on test rows in 2)"));
  for (const auto& [words_of_one, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--task=predict"}, "--task=predict: --catboost-params trains: expected --task=train"},
           {{"--job=x.toml"}, "--job and --catboost_params exclude each other"},
           {{"--threads=2"}, "--threads has no effect on a model of CatBoost: set thread_count"},
           {{"--json", "model_file=-"}, "--json and a model or predictions on standard output"},
           {{"--log-file=" + rows + "params.json"}, "is a file of --catboost-params"},
           {{"model_file=" + rows + "params.json"}, "params.json"}}) {
    const ProcessResult wrong = run(words_of_one);
    EXPECT_NE(wrong.end, ProcessEnd{}) << message;
    EXPECT_THAT(wrong.errors, HasSubstr(message));
  }
}

// A job of the golden rows; its paths are relative to the folder that it is written into.
std::string JobText() {
  return "[data]\ntrain = \"" + kGolden + "training/learn.tsv\"\ntest = \"" + kGolden +
         "training/test.tsv\"\ndelimiter = \"tab\"\n"
         "columns = [\"y\", \"b\", \"p\", \"w\", \"f0\", \"f1\", \"f2\", \"f3\", \"f4\", "
         "\"c0\", \"c1\", \"c2\"]\nmissing = [\"nan\"]\nlabel = \"y\"\n"
         "ignore = [\"b\", \"p\", \"w\", \"c0\", \"c1\", \"c2\"]\n"
         "[[feature]]\nkind = \"numeric\"\ncolumns = [\"f0\", \"f1\", \"f2\", \"f3\", \"f4\"]\n"
         "[model]\nkind = \"gbdt\"\n[gbdt]\nalgorithm = \"catboost\"\nbootstrap_type = \"No\"\n"
         "random_strength = 0\niterations = 4\ndepth = 3\nlearning_rate = 0.3\n"
         "loss_function = \"RMSE\"\n"
         "[output]\nmodel = \"job.json\"\npredictions = \"predictions.txt\"\n";
}

TEST(CatBoostProcess, AJobFileTrainsEvaluatesAndPredicts) {
  const TempFolder folder;
  WriteWholeFile(folder.File("job.toml"), JobText());
  const std::string job = "--job=" + folder.File("job.toml");
  const std::string rows = kGolden + "training/";
  const ProcessResult direct =
      RunWorker({"--catboost-params=" + rows + "params.json", "learn_set=" + rows + "learn.tsv",
                 "test_set=" + rows + "test.tsv", "cd=" + rows + "rows.cd",
                 "model_file=" + folder.File("direct.json")});
  ASSERT_EQ(direct.end, ProcessEnd{}) << direct.errors;
  const ProcessResult trained = RunWorker({job, "--json"});
  ASSERT_EQ(trained.end, ProcessEnd{}) << trained.errors;
  EXPECT_EQ(Lines(trained.output).size(), 5U) << "one a round, and the result";
  EXPECT_EQ(ReadWholeFile(folder.File("job.json")), ReadWholeFile(folder.File("direct.json")));
  const ProcessResult evaluated = RunWorker({job, "--task=evaluate", "--json"});
  ASSERT_EQ(evaluated.end, ProcessEnd{}) << evaluated.errors;
  const auto result = nlohmann::json::parse(Lines(trained.output).back());
  const auto measured = nlohmann::json::parse(evaluated.output);
  EXPECT_NEAR(measured["metrics"]["RMSE"].get<double>(),
              result["metrics"]["test"]["RMSE"].get<double>(), 1e-9);
  const ProcessResult predicted = RunWorker({job, "--task=predict", "output.predictions=-"});
  ASSERT_EQ(predicted.end, ProcessEnd{}) << predicted.errors;
  EXPECT_EQ(Lines(predicted.output).size(), 40U);
  EXPECT_THAT(predicted.errors, HasSubstr("task          predict"));
  EXPECT_EQ(RunWorker({job, "--task=predict"}).end, ProcessEnd{});
  EXPECT_EQ(ReadWholeFile(folder.File("predictions.txt")), predicted.output);
}

TEST(CatBoostProcess, WrongJobsEndWithExitCode2AndSayWhatToDo) {
  const TempFolder folder;
  WriteWholeFile(folder.File("job.toml"), JobText());
  WriteWholeFile(folder.File("m.json"), ReadWholeFile(kGolden + "numbers.json"));
  WriteWholeFile(folder.File("light.toml"), "[model]\nkind = \"gbdt\"\n[gbdt]\ndepth = 3\n");
  const std::string job = "--job=" + folder.File("job.toml");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{job, "gbdt.dept=3"}, "command line: unknown key 'dept'; did you mean 'depth'?"},
      {{job, "gbdt.langevin=true"}, "langevin = true is not there yet: expected false"},
      {{job, "gbdt.lambda_l2=3"}, "gbdt.lambda_l2 is a parameter of LightGBM"},
      {{job, "--threads=2"}, "--threads has no effect on trees: set thread_count in [gbdt]"},
      {{job, "--servers=localhost:1", "--rendezvous=localhost:2"},
       "gbdt.algorithm = \"catboost\" trains in one process: remove --config"},
      {{job, "--task=refit"}, "CatBoost's trees know no such task"},
      {{job, "--json", "output.model=-"}, "--json and a model or predictions on standard output"},
      {{job, "output.model=" + folder.File("m.cbm")}, "CatBoost's binary format (.cbm)"},
      {{job, "output.model=" + folder.File("none/m.json")}, "output.model = "},
      {{job, "output.model=" + folder.File("job.toml")}, "output.model = "},
      {{job, "--task=evaluate", "output.model=" + folder.File("m.json"),
        "--log-file=" + folder.File("m.json")},
       "is a file of output.model: name another"},
      {{job, "--task=evaluate", "output.model=" + folder.File("none.json")}, "none.json"},
      {{job, "--task=predict", "output.predictions=" + folder.File("job.toml")},
       "output.predictions = "},
      {{"--job=" + folder.File("light.toml")},
       "gbdt.depth is a parameter of CatBoost: set gbdt.algorithm = \"catboost\""}};
  for (const auto& [words, error] : cases) {
    const ProcessResult run = RunWorker(words);
    EXPECT_EQ(run.end.code, 2) << error << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(error));
  }
}

TEST(CatBoostProcess, HelpNamesTheOptionsAndTheirPage) {
  std::string help = RunWorker({"--help"}).output;
  std::ranges::replace(help, '\n', ' ');
  for (const char* const word : {"docs/catboost.md", "learn_set", "test_set", "input_path",
                                 "prediction_type", "column_description (cd)"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

TEST(CatBoostProcess, ConvertsAModel) {
  const TempFolder folder;
  const ProcessResult run = RunWorker({"--task=convert", "model_file=" + kGolden + "lossguide.json",
                                       "output_path=" + folder.File("m.json")});
  ASSERT_EQ(run.end, ProcessEnd{}) << run.errors;
  EXPECT_TRUE(nlohmann::json::parse(ReadWholeFile(folder.File("m.json"))).contains("trees"));
}

TEST(CatBoostProcess, WrongCommandLinesEndWithExitCode2AndSayWhy) {
  const std::string model = "model_file=" + kGolden + "numbers.json";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--task=evaluate", model}, "expected --task=predict or --task=convert"},
      {{"--task=predict", model}, "input_path is missing"},
      {{"--task=predict", model, "input_path=x", "--job=job.toml"},
       "--job and model_file exclude each other"},
      {{"--task=predict", model, "input_path=x", "--threads=2"},
       "--threads has no effect on a model of CatBoost: set thread_count"},
      {{"--task=predict", model, "input_path=x", "--servers=localhost:1"},
       "predicts in one process"},
      {{"--task=predict", model, "input_path=x", "output_path=-", "--json"},
       "exclude each other: name a file"},
      {{"--task=predict", "input_path=x"}, "--job is missing"}};
  for (const auto& [words, error] : cases) {
    const ProcessResult run = RunWorker(words);
    EXPECT_EQ(run.end, ProcessEnd{.code = 2}) << error << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(error));
  }
}

// A train.conf cannot name such a model: the error says which options do.
TEST(CatBoostProcess, ATrainConfNamesTheWayForCatBoostsModels) {
  const TempFolder folder;
  WriteWholeFile(folder.File("conf"), "task = predict\ndata = " + kGolden +
                                          "rows.tsv\ninput_model = " + kGolden + "numbers.json\n");
  const ProcessResult run = RunWorker({"config=" + folder.File("conf")});
  EXPECT_NE(run.end, ProcessEnd{});
  EXPECT_THAT(run.errors, HasSubstr("a model of CatBoost, which predicts by its own options"));
}

}  // namespace
}  // namespace strata
