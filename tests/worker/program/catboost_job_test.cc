// Job files of CatBoost's trees, held against the tasks of catboost fit and calc on the same rows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "base/file/text_file.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/train/training_case.h"
#include "worker/tasks/catboost/calc_task.h"
#include "worker/tasks/catboost/fit_task.h"
#include "worker/tasks/catboost/job_options.h"

namespace strata {
namespace {

using testing::HasSubstr;

std::string Read(Disk& disk, const std::string& path) {
  Result<std::string> text = ReadFile(disk, path, 1 << 24);
  return text.ok() ? *text : text.status().ToString();
}

void Write(Disk& disk, const std::string& path, const std::string& text) {
  ASSERT_TRUE(WriteFileAtomically(disk, path, text).ok());
}

std::string TomlOf(const nlohmann::json& value) {
  if (!value.is_object()) return value.dump();
  std::string text;
  for (const auto& [name, member] : value.items()) {
    text += fmt::format("{}\"{}\" = {}", text.empty() ? "" : ", ", name, TomlOf(member));
  }
  return fmt::format("{{{}}}", text);
}

// The case as a job file: its rows by columns, its parameters in [gbdt].
std::string JobOf(const TrainingCase& training) {
  std::string columns;
  std::string ignored;
  std::string data;
  std::string features;
  std::istringstream lines(training.description);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string place;
    std::string type;
    std::string name;
    fields >> place >> type >> name;
    if (name.empty()) name = "column" + place;
    columns += fmt::format("\"{}\", ", name);
    if (type == "Label") data += fmt::format("label = \"{}\"\n", name);
    if (type == "Weight") data += fmt::format("weight = \"{}\"\n", name);
    if (type == "Auxiliary") ignored += fmt::format("\"{}\", ", name);
    if (type != "Num" && type != "Categ") continue;
    features += fmt::format("[[feature]]\nkind = \"{}\"\ncolumns = [\"{}\"]\n",
                            type == "Num" ? "numeric" : "categorical", name);
  }
  std::string parameters;
  std::string seed;
  for (const auto& [name, value] : training.json["params"].items()) {
    if (name == "random_seed") {
      seed = fmt::format("[job]\nseed = {}\n", value.dump());
    } else if (!value.is_null()) {
      parameters += fmt::format("{} = {}\n", name, TomlOf(value));
    }
  }
  return fmt::format(
      "{}[data]\ntrain = \"learn.tsv\"\n{}delimiter = \"tab\"\nmissing = [\"nan\"]\n"
      "columns = [{}]\nignore = [{}]\n{}{}[model]\nkind = \"gbdt\"\n"
      "[gbdt]\nalgorithm = \"catboost\"\nthread_count = 2\n{}"
      "[output]\nmodel = \"job.json\"\npredictions = \"predictions.txt\"\n",
      seed, training.test.empty() ? "" : "test = \"test.tsv\"\n", columns, ignored, data, features,
      parameters);
}

TreeTaskContext ContextOf(Disk& disk) {
  return {.disk = disk, .clock = RealClock(), .progress = {}, .check = [] { return Status::Ok(); }};
}

// Does a task of the job file job.toml.
Result<TreeTaskResult> RunJob(Disk& disk, const std::string& task,
                              const std::vector<std::string>& overrides = {}) {
  STRATA_ASSIGN(const JobConfig job, LoadJob(disk, "job.toml", overrides, task));
  if (task == "train") {
    STRATA_ASSIGN(const FitOptions options, FitOptionsOfJob(job));
    return RunFitTask(options, ContextOf(disk));
  }
  STRATA_ASSIGN(const ApplyOptions options, ApplyOptionsOfJob(job, task));
  return RunApplyTask(options, ContextOf(disk));
}

// The measured values of the data with this name.
std::vector<double> MetricsOf(const TreeTaskResult& result, const std::string& data) {
  std::vector<double> values;
  for (const Evaluation& evaluation : result.evaluations) {
    if (evaluation.data != data) continue;
    for (const MetricValue& metric : evaluation.metrics) values.push_back(metric.value);
  }
  return values;
}

struct Training {
  std::string name;
  bool of_classes;
};

std::vector<Training> Trainings() {
  std::vector<Training> all;
  for (const std::string& name : GoldenTrainings()) all.push_back({name, false});
  for (const char* name :
       {"balanced", "multi", "multi_count", "multi_names", "names", "one_vs_all", "weights"}) {
    all.push_back({name, true});
  }
  return all;
}

class CatBoostJobTest : public testing::TestWithParam<Training> {
 protected:
  CatBoostJobTest()
      : training_(GetParam().of_classes ? GoldenClassTraining(GetParam().name)
                                        : GoldenTraining(GetParam().name)) {}

  void SetUp() override {
    WriteTraining(disk_, training_);
    Write(disk_, "job.toml", JobOf(training_));
  }

  // What `catboost calc` predicts: the lines behind the first, without sample ids.
  std::string Calc(const std::string& type) {
    const std::string words[] = {"model_file=model.json", "input_path=test.tsv", "cd=rows.cd",
                                 "prediction_type=" + type};
    const Result<CalcOptions> options = ParseCalcOptions(words, "predict");
    if (!options.ok()) return options.status().ToString();
    const Status done = RunCalcTask(*options, ContextOf(disk_)).status();
    if (!done.ok()) return done.ToString();
    std::istringstream lines(Read(disk_, "output.tsv"));
    std::string line;
    std::getline(lines, line);
    std::string rest;
    while (std::getline(lines, line)) rest += line.substr(line.find('\t') + 1) + '\n';
    return rest;
  }

  SimDisk disk_;
  TrainingCase training_;
};

TEST_P(CatBoostJobTest, TheModelIsThatOfParams) {
  std::vector<std::string> words;
  if (!training_.test.empty()) words.emplace_back("test_set=test.tsv");
  const Result<TreeTaskResult> direct = TrainFromFiles(disk_, words);
  ASSERT_TRUE(direct.ok()) << direct.status().ToString();
  const Result<TreeTaskResult> result = RunJob(disk_, "train");
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(Read(disk_, "job.json"), Read(disk_, "model.json"));
  EXPECT_EQ(MetricsOf(*result, "training"), MetricsOf(*direct, "training"));
  EXPECT_EQ(MetricsOf(*result, "test"), MetricsOf(*direct, "test"));
  EXPECT_EQ(result->rows, direct->rows);
  if (training_.test.empty()) return;

  for (const char* type : {"RawFormulaVal", "Probability", "Class"}) {
    const std::string expected = Calc(type);
    const Status predicted =
        RunJob(disk_, "predict", {fmt::format("gbdt.prediction_type={}", type)}).status();
    if (expected.starts_with("INVALID")) {
      EXPECT_EQ(predicted.code(), StatusCode::kInvalid) << type;  // it does not fit the loss
      continue;
    }
    ASSERT_TRUE(predicted.ok()) << predicted.ToString();
    EXPECT_EQ(Read(disk_, "predictions.txt"), expected) << type;
  }

  // Its weights of classes are those of the rows to learn from.
  if (GetParam().name == "balanced") return;
  const Result<TreeTaskResult> evaluated = RunJob(disk_, "evaluate");
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
  const std::vector<double> trained = MetricsOf(*result, "test");
  const std::vector<double> metrics = MetricsOf(*evaluated, "data");
  ASSERT_EQ(metrics.size(), trained.size());
  for (size_t i = 0; i < metrics.size(); ++i) EXPECT_NEAR(metrics[i], trained[i], 1e-9) << i;
}

INSTANTIATE_TEST_SUITE_P(All, CatBoostJobTest, testing::ValuesIn(Trainings()),
                         [](const auto& test) {
                           return (test.param.of_classes ? "classes_" : "") + test.param.name;
                         });

// A job of two features, whose rows are written as a job may write them.
class CatBoostJobRows : public testing::Test {
 protected:
  void SetUp() override {
    std::string rows;
    for (int i = 0; i < 200; ++i) rows += Row(i);
    Write(disk_, "rows.csv", "# made by hand\n\"y\", x ,town,w\n" + rows);
    Write(disk_, "job.toml", kJob);
  }

  static double LabelOf(int i) { return (i % 7) * 0.5 + (i % 3 == 0 ? 2 : -1); }
  static std::string Row(int i) {
    const char* const town = i % 3 == 0 ? "\"Bern, old\"" : i % 3 == 1 ? " Ulm" : "?";
    const std::string x = i % 11 == 0 ? "?" : fmt::format("{}", i % 7);
    return fmt::format("{}, {},{} ,{}\n", LabelOf(i), x, town, 1 + i % 2);
  }

  static constexpr const char* kJob = R"([data]
train = "rows.csv"
test = "rows.csv"
header = true
comment = "#"
missing = ["?"]
label = "y"
weight = "w"
bad_share_max = 0.02
[[feature]]
columns = ["town"]
[[feature]]
kind = "numeric"
columns = ["x"]
[model]
kind = "gbdt"
[gbdt]
algorithm = "catboost"
iterations = 12
one_hot_max_size = 5
learning_rate = 0.3
verbose = false
[output]
model = "job.json"
predictions = "predictions.txt"
)";

  SimDisk disk_;
};

TEST_F(CatBoostJobRows, MeanWhatTheJobSays) {
  // The same rows as catboost fit has them: in another order of columns, without a header.
  std::string rows;
  for (int i = 0; i < 200; ++i) {
    const char* const town = i % 3 == 0 ? "Bern, old" : i % 3 == 1 ? "Ulm" : "";
    const std::string x = i % 11 == 0 ? "" : fmt::format("{}", i % 7);
    rows += fmt::format("{}\t{}\t{}\t{}\n", town, x, LabelOf(i), 1 + i % 2);
  }
  Write(disk_, "learn.tsv", rows);
  Write(disk_, "rows.cd", "0\tCateg\ttown\n1\tNum\tx\n2\tLabel\n3\tWeight\n");
  Write(disk_, "params.json",
        R"({"iterations": 12, "one_hot_max_size": 5, "learning_rate": 0.3, "verbose": false})");
  const auto direct = TrainFromFiles(disk_, {"test_set=learn.tsv"});
  ASSERT_TRUE(direct.ok()) << direct.status().ToString();
  const auto result = RunJob(disk_, "train");
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->rows, 200U);
  EXPECT_EQ(Read(disk_, "job.json"), Read(disk_, "model.json"));
}

TEST_F(CatBoostJobRows, TheDeviceIsThatOfTheJob) {
  const auto device = [this](const std::vector<std::string>& overrides, const std::string& task) {
    const Result<JobConfig> job = LoadJob(disk_, "job.toml", overrides, task);
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    if (task == "train") {
      const Result<FitOptions> options = FitOptionsOfJob(*job);
      EXPECT_TRUE(options.ok()) << options.status().ToString();
      return options->parameters.device;
    }
    const Result<ApplyOptions> options = ApplyOptionsOfJob(*job, task);
    EXPECT_TRUE(options.ok()) << options.status().ToString();
    return options->parameters.device;
  };
  for (const char* const task : {"train", "evaluate", "predict"}) {
    EXPECT_EQ(device({}, task).kind, DeviceKind::kCpu) << task;
    EXPECT_EQ(device({"gbdt.task_type=GPU"}, task).kind, std::nullopt) << task;
    EXPECT_EQ(device({"gbdt.task_type=GPU", "compute.device=cpu"}, task).kind, DeviceKind::kCpu);
    EXPECT_EQ(device({"compute.device=cuda:3"}, task).kind, DeviceKind::kCuda) << task;
    EXPECT_EQ(device({"compute.device=cuda:3"}, task).ordinal, 3) << task;
  }
}

TEST_F(CatBoostJobRows, TheCommandLineWinsUnderEachName) {
  ASSERT_TRUE(RunJob(disk_, "train", {"gbdt.learning_rate=0.1", "job.seed=5"}).ok());
  const std::string expected = Read(disk_, "job.json");
  ASSERT_TRUE(RunJob(disk_, "train", {"job.seed=5"}).ok());
  EXPECT_NE(Read(disk_, "job.json"), expected);
  ASSERT_TRUE(RunJob(disk_, "train", {"gbdt.eta=0.1", "job.seed=5"}).ok());
  EXPECT_EQ(Read(disk_, "job.json"), expected);
  ASSERT_TRUE(RunJob(disk_, "train", {"gbdt.eta=0.1", "job.seed=6"}).ok());
  EXPECT_NE(Read(disk_, "job.json"), expected);
  EXPECT_THAT(RunJob(disk_, "train", {"gbdt.eta=0.1", "gbdt.learning_rate=0.1"}).status().message(),
              HasSubstr("command line: learning_rate is given twice"));
}

TEST_F(CatBoostJobRows, EvaluateMeasuresWhatPredictPredicts) {
  ASSERT_TRUE(RunJob(disk_, "train").ok());
  const auto evaluated = RunJob(disk_, "evaluate", {"gbdt.eval_metric=MAE"});
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
  ASSERT_TRUE(RunJob(disk_, "predict").ok());
  std::istringstream lines(Read(disk_, "predictions.txt"));
  double squares = 0;
  double sizes = 0;
  double weights = 0;
  int row = 0;
  for (std::string line; std::getline(lines, line); ++row) {
    const double error = std::stod(line) - static_cast<float>(LabelOf(row));
    squares += (1 + row % 2) * error * error;
    sizes += (1 + row % 2) * std::abs(error);
    weights += 1 + row % 2;
  }
  EXPECT_EQ(row, 200);
  const std::vector<double> metrics = MetricsOf(*evaluated, "data");
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_NEAR(metrics[0], sizes / weights, 2e-6);  // CatBoost takes 1e-6 from each error
  EXPECT_NEAR(metrics[1], std::sqrt(squares / weights), 1e-9);
  EXPECT_LT(metrics[1], 1);  // it has learned something
}

TEST_F(CatBoostJobRows, ThatCannotBeReadAreLeftOutOrPredictedAsNan) {
  ASSERT_TRUE(RunJob(disk_, "train").ok());
  const std::string model = Read(disk_, "job.json");
  const std::string rows = Read(disk_, "rows.csv");
  Write(disk_, "rows.csv", rows + "1,ten,Ulm,1\n2,3,Ulm\n");
  const auto trained = RunJob(disk_, "train");
  ASSERT_TRUE(trained.ok()) << trained.status().ToString();
  EXPECT_EQ(trained->rows, 200U);
  EXPECT_EQ(trained->bad_rows, 2U);
  EXPECT_EQ(Read(disk_, "job.json"), model);
  const auto evaluated = RunJob(disk_, "evaluate");
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
  EXPECT_EQ(evaluated->rows, 200U);
  EXPECT_EQ(evaluated->bad_rows, 2U);
  EXPECT_NEAR(MetricsOf(*evaluated, "data").at(0), MetricsOf(*trained, "test").at(0), 1e-9);
  const auto predicted = RunJob(disk_, "predict");
  ASSERT_TRUE(predicted.ok()) << predicted.status().ToString();
  EXPECT_EQ(predicted->rows, 202U);
  EXPECT_EQ(predicted->bad_rows, 2U);
  EXPECT_TRUE(Read(disk_, "predictions.txt").ends_with("\nnan\nnan\n"));
  const Status strict = RunJob(disk_, "train", {"data.bad_share_max=0"}).status();
  EXPECT_THAT(strict.message(), HasSubstr("rows.csv:203: column 'x': 'ten' is no finite number"));
}

TEST_F(CatBoostJobRows, MayHaveTextsForTwoLabels) {
  std::string rows = "y,x,town,w\n";
  for (int i = 0; i < 100; ++i) {
    rows += fmt::format("{},{},Ulm,1\n", i % 7 > 2 ? "yes" : "no", i % 7);
  }
  Write(disk_, "rows.csv", rows);
  const std::vector<std::string> lists = {"data.label_positive=no", "data.label_negative=yes",
                                          "gbdt.loss_function=Logloss"};
  ASSERT_TRUE(RunJob(disk_, "train", lists).ok());
  std::vector<std::string> words = lists;
  words.emplace_back("gbdt.prediction_type=Class");
  ASSERT_TRUE(RunJob(disk_, "predict", words).ok());
  EXPECT_TRUE(Read(disk_, "predictions.txt").starts_with("1\n1\n1\n0\n0\n"));
  // Without the lists the texts are the classes.
  ASSERT_TRUE(RunJob(disk_, "train", {lists[2]}).ok());
  ASSERT_TRUE(RunJob(disk_, "predict", {lists[2], words[3]}).ok());
  EXPECT_TRUE(Read(disk_, "predictions.txt").starts_with("no\nno\nno\nyes\nyes\n"));
  EXPECT_THAT(RunJob(disk_, "train").status().message(), HasSubstr("'no' is no finite number"));
}

TEST_F(CatBoostJobRows, MistakesNameThePlaceAndWhatToDo) {
  const auto error = [this](const std::string& line, const std::string& task = "train") {
    std::string text = kJob;
    text.replace(text.find("verbose = false"), 15, line);
    Write(disk_, "job.toml", text);
    return std::string(RunJob(disk_, task).status().message());
  };
  const std::pair<const char*, const char*> cases[] = {
      {"dept = 3", "job.toml:22:1: unknown key 'dept'; did you mean 'depth'?"},
      {"depth = 33", "job.toml:22:1: depth must be an integer from 1 to 16; found '33'"},
      {"depth = [3]", "job.toml:22:1: depth: expected a text, a number, true or false"},
      {"grow_policy = \"Depthwise\"",
       "job.toml:22:1: grow_policy = Depthwise is not there yet: expected SymmetricTree, or"},
      {"n_estimators = 3", "job.toml:22:1: iterations is given twice: give it once"},
      {"min_data_in_leaf = 1\nbagging_freq = 1",
       "job.toml:23:1: gbdt.bagging_freq is a parameter of LightGBM, which gbdt.algorithm = "},
      {"lambda = 3", "job.toml:22:1: gbdt.lambda is a parameter of LightGBM"},
      {"random_seed = 3",
       "job.toml:22:1: gbdt.random_seed has another place: job.seed (CatBoost's"},
      {"cd = \"rows.cd\"", "gbdt.cd has another place: [[feature]], data.label and data.weight"},
      {"eval_metric = \"AUC\"", "AUC does not measure a training for RMSE"},
      {"prediction_type = \"Raw\"", "job.toml:22:1: prediction_type must be one of RawFormulaVal"},
      {"loss_function = \"Poisson\"",
       "rows.csv: the line at byte 50: expected a label that is 0 or above"}};
  for (const auto& [line, expected] : cases) EXPECT_THAT(error(line), HasSubstr(expected)) << line;
  const std::string deep = "depth = " + std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT(error(deep), HasSubstr("job.toml:22:1: "));
  EXPECT_THAT(error("", "predict"), HasSubstr("job.json"));  // there is no model
  ASSERT_EQ(error(""), "");
  EXPECT_THAT(error("loss_function = \"MAE\"", "evaluate"),
              HasSubstr("job.json: the model was trained for RMSE, and loss_function of the job is "
                        "MAE: expected the same"));
}

}  // namespace
}  // namespace strata
