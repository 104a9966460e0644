// The tasks of a job of the CTR models, by one worker and by several.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cluster/collective/memory_world.h"
#include "strata/click_model.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/compress.h"
#include "tests/worker/ctr/sync_store.h"
#include "tests/worker/program/libffm_texts.h"
#include "tests/worker/program/run_job.h"
#include "tests/worker/thread_session.h"
#include "tests/worker/xor_data.h"
#include "worker/ctr/model_file.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = R"([job]
name = "xor"
[data]
train = "train.csv"
test = "test.csv"
columns = ["left", "right", "y"]
label = "y"
[[feature]]
columns = ["left", "right"]
[model]
embedding_dim = 4
hidden = [8]
[train]
batch_size = 100
[output]
model = "model"
predictions = "predictions.csv"
)";

// What a job says of its data, and the rest of kJob.
std::string WithData(const std::string& data) {
  const std::string job = kJob;
  return "[job]\nname = \"xor\"\n[data]\ntrain = \"train.csv\"\ntest = \"test.csv\"\n" + data +
         job.substr(job.find("[model]"));
}

struct Outcome {
  Status status;
  TaskResult result;  // of rank 0
};

class JobTasks : public testing::Test {
 protected:
  JobTasks() {
    WriteWholeFile(folder_.File("train.csv"), XorCsv(500, 12, 1));
    WriteWholeFile(folder_.File("test.csv"), XorCsv(200, 12, 2));
  }

  Outcome Run(Task task, size_t world, const std::vector<std::string>& overrides = {}) {
    const auto tables = MakeHostStore();
    SyncStore store(*tables);
    MemoryWorld memory(static_cast<int>(world));
    std::vector<Outcome> outcomes(world);
    std::vector<std::thread> ranks;
    for (size_t r = 0; r < world; ++r) {
      ranks.emplace_back([&, r] {
        ThreadSession session(memory.rank(static_cast<int>(r)), store, *tables);
        outcomes[r] = RunRank(session, task, overrides);
        if (!outcomes[r].status.ok()) memory.Fail(outcomes[r].status);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status.ok(), outcomes[0].status.ok());
    return std::move(outcomes[0]);
  }

  std::vector<std::string> Predictions() const {
    std::vector<std::string> lines;
    std::istringstream stream(ReadWholeFile(folder_.File("predictions.csv")));
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  std::vector<double> PredictedNumbers() const {
    std::vector<double> numbers;
    for (const std::string& line : Predictions()) {
      numbers.push_back(std::stod(line.substr(line.find(',') + 1)));
    }
    return numbers;
  }

  // In a process of its own, without servers.
  Result<TaskResult> RunAlone(Task task, const std::vector<std::string>& overrides) {
    STRATA_ASSIGN(const JobConfig job,
                  ParseJob(job_text_, folder_.File("job.toml"), overrides, TaskName(task)));
    return RunJobAlone(task, job);
  }

  void ExpectLogisticByHand(bool is_mean) {
    struct Row {
      int label;
      std::map<std::string, double> values;
    };
    const std::vector<Row> rows = {{1, {{"a", 0.5}, {"b", -2}}},
                                   {0, {{"b", 1}, {"c", 3}}},
                                   {1, {{"a", 0.25}, {"c", 0.125}}},
                                   {0, {{"a", 1}, {"b", 1.5}, {"c", -1}}}};
    std::string text;
    for (const Row& row : rows) {
      text += std::to_string(row.label);
      for (const auto& [name, value] : row.values) text += fmt::format(" 0:{}:{}", name, value);
      text += '\n';
    }
    double bias = 0;
    std::map<std::string, double> weights;
    const auto keys_of = [&](const Row& row) {
      return is_mean ? static_cast<double>(row.values.size()) : 1.0;
    };
    const auto predict = [&](const Row& row) {
      double logit = bias;
      for (const auto& [name, value] : row.values) logit += weights[name] * value / keys_of(row);
      return 1 / (1 + std::exp(-logit));
    };
    for (int step = 0; step < 3; ++step) {
      double of_bias = 0;
      std::map<std::string, double> gradient;
      for (const Row& row : rows) {
        const double error = (predict(row) - row.label) / static_cast<double>(rows.size());
        of_bias += error;
        for (const auto& [name, value] : row.values) gradient[name] += error * value / keys_of(row);
      }
      bias -= 0.25 * of_bias;
      for (const auto& [name, change] : gradient) weights[name] -= 0.5 * change;
    }

    job_text_ = WithData("format = \"libffm\"\n");
    WriteWholeFile(folder_.File("train.csv"), text);
    WriteWholeFile(folder_.File("test.csv"), text);
    const std::vector<std::string> descent = {
        is_mean ? "model.combiner=mean" : "model.combiner=sum",
        "model.kind=logistic",
        "train.batch_size=4",
        "train.epochs=3",
        "sparse.optimizer=sgd",
        "sparse.learning_rate=0.5",
        "dense.optimizer=sgd",
        "dense.learning_rate=0.25"};
    const Outcome trained = Run(Task::kTrain, 1, descent);
    ASSERT_TRUE(trained.status.ok()) << trained.status.ToString();
    ASSERT_TRUE(Run(Task::kPredict, 1, {"model.kind=logistic"}).status.ok());
    const std::vector<std::string> lines = Predictions();
    ASSERT_EQ(lines.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(std::stod(lines[i].substr(lines[i].find(',') + 1)), predict(rows[i]), 1e-6);
    }
  }

  TempFolder folder_;
  std::string job_text_ = kJob;

 private:
  Outcome RunRank(Session& session, Task task, const std::vector<std::string>& overrides) {
    auto job = ParseJob(job_text_, folder_.File("job.toml"), overrides, TaskName(task));
    if (!job.ok()) return {.status = job.status(), .result = {}};
    auto result = RunJob(session, task, std::move(job).value());
    if (!result.ok()) return {.status = result.status(), .result = {}};
    return {.status = {}, .result = std::move(result).value()};
  }
};

TEST_F(JobTasks, EveryRowHasAPredictionAndABadOneIsNan) {
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  ASSERT_TRUE(Run(Task::kPredict, 1).status.ok());
  const std::vector<std::string> good = Predictions();
  ASSERT_EQ(good.size(), 200U);

  // Row i of the file is the good row `from[i]`; the bad ones stand at both ends and between.
  std::istringstream rows(XorCsv(200, 12, 2));
  std::string text = "bad\n";
  std::vector<int> from = {-1};
  int number = 0;
  for (std::string row; std::getline(rows, row); ++number) {
    text += row + (number % 2 == 0 ? "\r\n" : "\n\n");
    from.push_back(number);
    if (number % 67 != 13) continue;
    text += "l1,r2,1,4\n";
    from.push_back(-1);
  }
  text += "\"l1";
  from.push_back(-1);
  WriteWholeFile(folder_.File("test.csv"), text);
  for (const size_t world : {1U, 2U, 3U}) {
    const Outcome outcome = Run(Task::kPredict, world, {"data.bad_share_max=0.2"});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    EXPECT_EQ(outcome.result.samples, from.size());
    EXPECT_EQ(outcome.result.bad_rows, 5U);
    const std::vector<std::string> lines = Predictions();
    ASSERT_EQ(lines.size(), from.size());
    for (size_t row = 0; row < lines.size(); ++row) {
      const std::string value = from[row] < 0
                                    ? "nan"
                                    : good[static_cast<size_t>(from[row])].substr(
                                          good[static_cast<size_t>(from[row])].find(',') + 1);
      EXPECT_EQ(lines[row], fmt::format("{},{}", row, value)) << world << " workers";
    }
  }
}

TEST_F(JobTasks, SparseRowsGiveTheModelOfTheSameRowsAsCsv) {
  job_text_ = WithData(
      "columns = [\"3\", \"5\", \"y\"]\nlabel = \"y\"\n[[feature]]\ncolumns = [\"3\", \"5\"]\n");
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  ASSERT_TRUE(Run(Task::kPredict, 1).status.ok());
  const std::vector<std::string> of_csv = Predictions();
  ASSERT_EQ(of_csv.size(), 200U);

  job_text_ = WithData("format = \"libffm\"\n");
  WriteWholeFile(folder_.File("train.csv"), AsLibffm(XorCsv(500, 12, 1)));
  WriteWholeFile(folder_.File("test.csv"), AsLibffm(XorCsv(200, 12, 2)));
  const Outcome trained = Run(Task::kTrain, 1);
  ASSERT_TRUE(trained.status.ok()) << trained.status.ToString();
  ASSERT_TRUE(Run(Task::kPredict, 1).status.ok());
  EXPECT_EQ(Predictions(), of_csv);
  for (const size_t world : {2U, 3U}) {
    ASSERT_TRUE(Run(Task::kPredict, world).status.ok());
    EXPECT_EQ(Predictions(), of_csv);
    const Outcome together = Run(Task::kTrain, world, {"output.model="});
    ASSERT_TRUE(together.status.ok()) << together.status.ToString();
    EXPECT_EQ(together.result.samples, 500U);
  }
  // Values count, and a field that the model does not know is no value of 0.
  std::string weighted = AsLibffm(XorCsv(200, 12, 2));
  for (size_t at = 0; (at = weighted.find(":1\n", at)) != std::string::npos; ++at) {
    weighted.replace(at, 2, ":2");
  }
  WriteWholeFile(folder_.File("test.csv"), weighted);
  ASSERT_TRUE(Run(Task::kPredict, 1).status.ok());
  EXPECT_NE(Predictions(), of_csv);
  WriteWholeFile(folder_.File("test.csv"), "1 3:l1:1 4:l1:1\n");
  const Outcome unknown = Run(Task::kEvaluate, 1);
  EXPECT_EQ(unknown.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(unknown.status.message(), HasSubstr("test.csv:1: field 4 is not among the 2 fields"));
}

// Logistic regression by hand: three steps of gradient descent, each over all rows. A mean divides
// what a row's values add to the logit by their number.
TEST_F(JobTasks, ValuesOfSparseRowsAreThoseOfTheModel) {
  for (const std::string combiner : {"sum", "mean"}) {
    SCOPED_TRACE(combiner);
    ExpectLogisticByHand(combiner == "mean");
  }
}

TEST_F(JobTasks, MeansAreTrainedSavedAndPredicted) {
  job_text_ = WithData("format = \"libffm\"\n");
  WriteWholeFile(folder_.File("train.csv"), BagsInLibffm(400, 3));
  WriteWholeFile(folder_.File("test.csv"), BagsInLibffm(150, 4));
  // Each step is over all rows, so that any number of workers takes the same steps.
  const std::vector<std::string> mean = {"model.combiner=mean",   "train.batch_size=1200",
                                         "train.epochs=4",        "train.shuffle_rows=0",
                                         "sparse.optimizer=sgd",  "dense.optimizer=sgd",
                                         "sparse.learning_rate=1"};
  const Outcome alone = Run(Task::kTrain, 1, mean);
  ASSERT_TRUE(alone.status.ok()) << alone.status.ToString();
  EXPECT_EQ(LoadModel(RealDisk(), folder_.File("model"))->model.shape.combiner, Combiner::kMean);
  const Outcome evaluated = Run(Task::kEvaluate, 1);  // what the model holds need not be said again
  ASSERT_TRUE(evaluated.status.ok()) << evaluated.status.ToString();
  EXPECT_EQ(evaluated.result.metrics->auc, alone.result.metrics->auc);
  EXPECT_EQ(evaluated.result.metrics->logloss, alone.result.metrics->logloss);
  ASSERT_TRUE(Run(Task::kPredict, 1, {"model.combiner=mean"}).status.ok());
  const std::vector<double> expected = PredictedNumbers();

  std::vector<std::string> again = mean;
  again.insert(again.end(), {"checkpoint.every_steps=1", "output.model=" + folder_.File("again"),
                             "checkpoint.folder=" + folder_.File("checkpoints")});
  again[2] = "train.epochs=2";
  ASSERT_TRUE(Run(Task::kTrain, 1, again).status.ok());
  again[2] = "train.epochs=4";
  const Result<TaskResult> resumed = RunAlone(Task::kTrain, again);
  ASSERT_TRUE(resumed.ok()) << resumed.status().ToString();
  EXPECT_TRUE(resumed->resumed_from.has_value());
  EXPECT_EQ(ReadWholeFile(folder_.File("again/dense-2.bin")),
            ReadWholeFile(folder_.File("model/dense-1.bin")));
  again[0] = "model.combiner=sum";
  EXPECT_THAT(RunAlone(Task::kTrain, again).status().ToString(),
              HasSubstr("of this job has 'model.combiner = \"mean\"', the job now"));

  const Outcome refused = Run(Task::kEvaluate, 1, {"model.combiner=sum"});
  EXPECT_EQ(refused.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.status.message(), HasSubstr("command line: model.combiner = sum, but the"));
  EXPECT_THAT(refused.status.message(), HasSubstr("was trained with mean"));

  ASSERT_TRUE(Run(Task::kTrain, 3, mean).status.ok());
  ASSERT_TRUE(Run(Task::kPredict, 3).status.ok());
  const std::vector<double> of_three = PredictedNumbers();
  ASSERT_EQ(of_three.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(of_three[i], expected[i], 1e-5) << i;
  std::vector<std::string> sum = mean;
  sum[0] = "model.combiner=sum";
  ASSERT_TRUE(Run(Task::kTrain, 1, sum).status.ok());
  ASSERT_TRUE(Run(Task::kPredict, 1).status.ok());
  EXPECT_NE(PredictedNumbers(), expected);
}

// Neither a file without a header needs the label to be predicted, nor does the job file then.
TEST_F(JobTasks, PredictsRowsWithoutTheirLabels) {
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  ASSERT_TRUE(Run(Task::kPredict, 1).status.ok());
  const std::vector<std::string> labelled = Predictions();
  std::istringstream rows(ReadWholeFile(folder_.File("test.csv")));
  std::string text;
  for (std::string row; std::getline(rows, row);) text += row.substr(0, row.rfind(',')) + "\n";
  WriteWholeFile(folder_.File("test.csv"), text);
  for (const auto& overrides : {std::vector<std::string>{}, {"data.columns=left,right"}}) {
    for (const size_t world : {1U, 2U}) {
      const Outcome outcome = Run(Task::kPredict, world, overrides);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
      EXPECT_EQ(Predictions(), labelled);
    }
  }
  EXPECT_THAT(Run(Task::kEvaluate, 1).status.ToString(),
              HasSubstr("the label seems to be missing"));
  EXPECT_THAT(Run(Task::kEvaluate, 1, {"data.columns=left,right"}).status.ToString(),
              HasSubstr("no column 'y', which the job file uses as the label"));
}

TEST_F(JobTasks, BadRowsAboveTheShareStillEndAPrediction) {
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  WriteWholeFile(folder_.File("test.csv"), XorCsv(50, 12, 2) + "bad\n");
  const Outcome outcome = Run(Task::kPredict, 1);
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(outcome.status.message(), HasSubstr("test.csv:51: 1 column, expected 3"));
}

// What a model holds cannot be chosen anew where the model is used.
TEST_F(JobTasks, SettingsThatContradictTheModelAreRefused) {
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  const std::pair<std::string, std::string> cases[] = {
      {"model.embedding_dim=5", "model.embedding_dim = 5, but the model in "},
      {"model.embedding_dim=5", "was trained with 4: "},
      {"model.hidden=8,4", "model.hidden = [8, 4], but the model in "},
      {"model.hidden=8,4", "was trained with [8]: "},
      {"model.kind=fm", "model.kind = fm, but the model in "},
      {"job.seed=7", "job.seed = 7, but the model in "},
      {"sparse.initializer=uniform", "sparse.initializer = uniform, but the model in "},
      {"sparse.init_scale=0.5", "was trained with 0.01: "},
      {"sparse.value_type=bf16", "sparse.value_type = bf16, but the model in "},
  };
  for (const Task task : {Task::kEvaluate, Task::kPredict}) {
    for (const auto& [change, message] : cases) {
      const Outcome outcome = Run(task, 1, {change});
      EXPECT_EQ(outcome.status.code(), StatusCode::kInvalid) << change;
      EXPECT_THAT(outcome.status.message(), HasSubstr(message));
    }
    EXPECT_TRUE(Run(task, 1, {"model.embedding_dim=4", "train.epochs=9"}).status.ok());
  }
}

TEST_F(JobTasks, AModelThatLacksItsInputsIsToldBeforeRowsAreRead) {
  WriteWholeFile(folder_.File("train.csv"), "bad\n");
  const Outcome outcome = Run(Task::kTrain, 1, {"model.kind=dlrm"});
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(outcome.status.message(),
              HasSubstr("job.toml: a dlrm model of 2 slots (categorical features) and 0 dense"));
}

TEST_F(JobTasks, TheDefaultRankOfCrossLayersIsBoundedByTheirWidth) {
  EXPECT_TRUE(Run(Task::kTrain, 1, {"model.kind=dcn_v2"}).status.ok());
  const Outcome outcome = Run(Task::kTrain, 1, {"model.kind=dcn_v2", "model.cross_rank=9"});
  EXPECT_THAT(outcome.status.message(), HasSubstr("model.cross_rank is 9: expected at most 8"));
}

TEST_F(JobTasks, ANetworkOfTooManyParametersIsAnError) {
  const Outcome outcome = Run(Task::kTrain, 1, {"model.hidden=[65536, 65536]"});
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(outcome.status.message(), HasSubstr("a network of 4295"));
}

TEST_F(JobTasks, DefaultsContradictNoModel) {
  ASSERT_TRUE(Run(Task::kTrain, 1, {"sparse.init_scale=0.5", "job.seed=7"}).status.ok());
  const Outcome outcome = Run(Task::kEvaluate, 1);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
}

TEST_F(JobTasks, ADictionaryHoldsTheTextsOfAllWorkers) {
  const auto dictionary = [&](size_t world) {
    const Outcome outcome = Run(Task::kTrain, world, {"output.dictionary=true"});
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    return ReadWholeFile(folder_.File("model/dictionary.csv"));
  };
  const std::string alone = dictionary(1);
  EXPECT_EQ(alone.rfind("column,text,key,rows\nleft,l0,", 0), 0U) << alone;
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 1 + 12 + 12);
  EXPECT_EQ(dictionary(3), alone);
  // The keys are those of the table's rows.
  std::vector<Key> keys;
  std::istringstream lines(alone);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    const size_t begin = line.find(',', line.find(',') + 1) + 1;
    keys.push_back(std::stoull(line.substr(begin)));
  }
  std::ranges::sort(keys);
  EXPECT_EQ(keys, LoadModel(RealDisk(), folder_.File("model"))->tables[0].keys);
  EXPECT_TRUE(Run(Task::kEvaluate, 1, {"output.dictionary=true"}).status.ok());
  // One without a dictionary leaves no old one behind.
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  EXPECT_EQ(RealDisk().OpenToRead(folder_.File("model/dictionary.csv")).status().code(),
            StatusCode::kNotFound);
}

TEST_F(JobTasks, WhereRowsAreLeftOutTheResultCountsThem) {
  WriteWholeFile(folder_.File("train.csv"), "bad\n" + XorCsv(500, 12, 1) + "l1,r1,7\n");
  WriteWholeFile(folder_.File("test.csv"), XorCsv(200, 12, 2) + "bad\n");
  for (const size_t world : {1U, 2U}) {
    const Outcome trained = Run(Task::kTrain, world, {"data.bad_share_max=0.2"});
    ASSERT_TRUE(trained.status.ok()) << trained.status.ToString();
    EXPECT_EQ(trained.result.samples, 500U);
    EXPECT_EQ(trained.result.bad_rows, 2U);
    EXPECT_EQ(trained.result.metrics->bad_rows, 1U);
    const Outcome evaluated = Run(Task::kEvaluate, world, {"data.bad_share_max=0.2"});
    ASSERT_TRUE(evaluated.status.ok()) << evaluated.status.ToString();
    EXPECT_EQ(evaluated.result.samples, 200U);
    EXPECT_EQ(evaluated.result.bad_rows, 1U);
  }
}

// The mean of the groups' AUCs by its definition, of the probabilities that predict has written.
struct GroupedRow {
  std::string group;
  double weight = 0;
  bool positive = false;
  double probability = 0;
};

double GaucOf(const std::vector<GroupedRow>& rows, uint64_t* left_out) {
  std::map<std::string, std::vector<const GroupedRow*>> groups;
  for (const GroupedRow& row : rows) groups[row.group].push_back(&row);
  double areas = 0;
  double weights = 0;
  for (const auto& [name, own] : groups) {
    double right = 0;
    double pairs = 0;
    double weight = 0;
    for (const GroupedRow* a : own) {
      weight += a->weight;
      for (const GroupedRow* b : own) {
        if (!a->positive || b->positive) continue;
        const double both = a->weight * b->weight;
        pairs += both;
        right += a->probability > b->probability    ? both
                 : a->probability == b->probability ? both / 2
                                                    : 0;
      }
    }
    *left_out += pairs == 0 ? 1 : 0;
    if (pairs == 0) continue;
    areas += weight * right / pairs;
    weights += weight;
  }
  return areas / weights;
}

TEST_F(JobTasks, GaucIsThatOfWhatPredictSays) {
  Random random(3);
  std::vector<GroupedRow> rows;
  std::string text;
  for (int i = 0; i < 400; ++i) {
    const uint64_t left = random.Below(12);
    const uint64_t right = random.Below(12);
    GroupedRow& row = rows.emplace_back();
    // Groups of all sizes, of one label too, and rows without a group.
    const uint64_t user = random.Below(1 + random.Below(80));
    row.group = user == 7 ? "" : fmt::format("u{}", user);
    row.weight = static_cast<double>(1 + random.Below(3)) / 2;
    row.positive = random.Below(4) == 0 || ((left ^ right) & 1) != 0;
    text +=
        fmt::format("l{},r{},{},{},{}\n", left, right, row.group, row.weight, row.positive ? 1 : 0);
  }
  job_text_ = WithData(
      "columns = [\"left\", \"right\", \"user\", \"w\", \"y\"]\nlabel = \"y\"\n"
      "weight = \"w\"\ngroup = \"user\"\n[[feature]]\ncolumns = [\"left\", \"right\"]\n");
  WriteWholeFile(folder_.File("train.csv"), text);
  WriteWholeFile(folder_.File("test.csv"), text);
  const Outcome trained = Run(Task::kTrain, 1, {"train.epochs=4"});
  ASSERT_TRUE(trained.status.ok()) << trained.status.ToString();
  ASSERT_TRUE(Run(Task::kPredict, 1).status.ok());
  const std::vector<std::string> lines = Predictions();
  ASSERT_EQ(lines.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].probability = std::stod(lines[i].substr(lines[i].find(',') + 1));
  }
  uint64_t left_out = 0;
  const double expected = GaucOf(rows, &left_out);
  ASSERT_GT(left_out, 0U);
  EXPECT_NEAR(trained.result.metrics->gauc, expected, 1e-9);
  EXPECT_EQ(trained.result.metrics->groups_left_out, left_out);
  EXPECT_NE(trained.result.metrics->gauc, trained.result.metrics->auc);
  for (const size_t world : {1U, 2U, 3U}) {
    const Outcome evaluated = Run(Task::kEvaluate, world);
    ASSERT_TRUE(evaluated.status.ok()) << evaluated.status.ToString();
    EXPECT_EQ(evaluated.result.metrics->gauc, trained.result.metrics->gauc) << world;
    EXPECT_EQ(evaluated.result.metrics->groups_left_out, left_out);
  }
  // The group may be a feature, too.
  const Outcome by_left = Run(Task::kEvaluate, 1, {"data.group=left", "data.ignore=user"});
  ASSERT_TRUE(by_left.status.ok()) << by_left.status.ToString();
  EXPECT_EQ(by_left.result.metrics->groups, 12U);
  const Outcome by_label = Run(Task::kEvaluate, 1, {"data.group=y", "data.ignore=user"});
  EXPECT_THAT(by_label.status.message(), HasSubstr("column 'y' is both the label and the group"));
  const Outcome unknown = Run(Task::kEvaluate, 1, {"data.group=usr"});
  EXPECT_THAT(unknown.status.message(),
              HasSubstr("no column 'usr', which the job file uses as the group; did you mean"));
}

TEST_F(JobTasks, GaucEndsTraining) {
  const std::vector<std::string> stopping = {"data.group=left", "train.eval_every=1",
                                             "train.epochs=30", "train.early_stopping=1",
                                             "train.best_by=gauc"};
  const Outcome outcome = Run(Task::kTrain, 1, stopping);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  EXPECT_EQ(outcome.result.early_stopping->best_by, "gauc");
  const Outcome evaluated = Run(Task::kEvaluate, 1, {"data.group=left"});
  EXPECT_EQ(evaluated.result.metrics->gauc, outcome.result.metrics->gauc);
}

// What several workers predict, in parts of files or whole ones, is what one predicts.
TEST_F(JobTasks, WorkersShareSeveralAndCompressedFiles) {
  const std::string rows = XorCsv(500, 12, 1);
  std::string names;
  for (size_t begin = 0, file = 0; begin < rows.size(); ++file) {
    const size_t end = std::min(rows.find('\n', begin + rows.size() / 7), rows.size() - 1) + 1;
    const std::string text = rows.substr(begin, end - begin);
    const std::string name = folder_.File(fmt::format("part-{}", file));
    WriteWholeFile(name, file % 3 == 0 ? text : file % 3 == 1 ? Gzip(text) : Zstd(text));
    names += (names.empty() ? "" : ",") + name;
    begin = end;
  }
  const std::string one = folder_.File("one.gz");
  WriteWholeFile(one, Gzip(rows));
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  ASSERT_TRUE(Run(Task::kPredict, 1, {"data.test=" + folder_.File("train.csv")}).status.ok());
  const std::vector<std::string> expected = Predictions();
  ASSERT_EQ(expected.size(), 500U);
  for (const size_t world : {1U, 2U, 3U, 5U}) {
    for (const std::string& files : {names, one}) {
      const Outcome predicted = Run(Task::kPredict, world, {"data.test=" + files});
      ASSERT_TRUE(predicted.status.ok()) << predicted.status.ToString();
      EXPECT_EQ(predicted.result.samples, 500U);
      EXPECT_EQ(Predictions(), expected) << world << " workers";
      // Of one compressed file all workers but one have nothing.
      const Outcome trained = Run(Task::kTrain, world,
                                  {"data.train=" + files, "output.model=" + folder_.File("other")});
      ASSERT_TRUE(trained.status.ok()) << trained.status.ToString();
      EXPECT_EQ(trained.result.samples, 500U);
    }
  }
  WriteWholeFile(one, Gzip(rows).substr(0, 400));
  for (const Task task : {Task::kTrain, Task::kEvaluate}) {
    const Outcome cut = Run(task, 3, {"data.train=" + one, "data.test=" + one});
    EXPECT_EQ(cut.status.code(), StatusCode::kInvalid);
    EXPECT_THAT(cut.status.message(), HasSubstr("one.gz: byte 400 of the file"));
  }
}

TEST_F(JobTasks, StandardInputIsForOneWorker) {
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  job_text_.replace(job_text_.find("\"test.csv\""), 10, "\"-\"");
  EXPECT_THAT(Run(Task::kTrain, 1).status.message(), HasSubstr("data.test is -, standard input"));
  for (const Task task : {Task::kEvaluate, Task::kPredict}) {
    EXPECT_THAT(
        Run(task, 2).status.message(),
        HasSubstr("data.test: is -, standard input, which one worker reads, but there are 2"));
  }
}

TEST_F(JobTasks, DataWithoutRowsIsToldBeforeTraining) {
  ASSERT_TRUE(Run(Task::kTrain, 1).status.ok());
  const std::string header = "left,right,y\n";
  job_text_ =
      WithData("header = true\nlabel = \"y\"\n[[feature]]\ncolumns = [\"left\", \"right\"]\n");
  WriteWholeFile(folder_.File("train.csv"), header + XorCsv(500, 12, 1));
  WriteWholeFile(folder_.File("test.csv"), header);
  for (const size_t world : {1U, 3U}) {
    const Outcome trained =
        Run(Task::kTrain, world, {"output.model=" + folder_.File("not written")});
    EXPECT_EQ(trained.status.code(), StatusCode::kInvalid);
    EXPECT_THAT(trained.status.message(), HasSubstr("job.toml:5:1: data.test: "));
    EXPECT_THAT(trained.status.message(), HasSubstr("test.csv: has no rows to evaluate on: name"));
    EXPECT_FALSE(std::filesystem::exists(folder_.File("not written")));
    EXPECT_THAT(Run(Task::kEvaluate, world).status.message(), HasSubstr("has no rows"));
    // There is nothing to say of no rows, and that is what is written.
    EXPECT_TRUE(Run(Task::kPredict, world).status.ok());
    EXPECT_TRUE(Predictions().empty());
  }
  // One row is in the share of one worker, and the others have none.
  WriteWholeFile(folder_.File("test.csv"), header + "l1,r2,1\n");
  EXPECT_TRUE(Run(Task::kEvaluate, 3).status.ok());
  EXPECT_TRUE(Run(Task::kTrain, 3).status.ok());
  WriteWholeFile(folder_.File("train.csv"), header);
  EXPECT_THAT(Run(Task::kTrain, 3).status.message(),
              HasSubstr("train.csv: has no rows to train on: name a file that has some"));
}

TEST_F(JobTasks, LabelsOfOneClassAreNoErrorAndHaveNoAuc) {
  WriteWholeFile(folder_.File("test.csv"), "l1,r2,0\nl3,r4,0\n");
  testing::internal::CaptureStderr();
  const Outcome trained = Run(Task::kTrain, 1);
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(trained.status.ok()) << trained.status.ToString();
  EXPECT_TRUE(std::isfinite(trained.result.metrics->logloss));
  EXPECT_THAT(log, HasSubstr("epoch 1 of 1: AUC none, logloss "));
  EXPECT_THAT(log, HasSubstr("data.test: AUC cannot be computed: all labels are 0"));
}

// The columns of both files are those of the job file, unless a file says otherwise.
TEST_F(JobTasks, AWrongColumnIsThatOfTheFileThatHasIt) {
  const std::string rows = XorCsv(200, 12, 1);
  const auto error = [&](const std::string& train, const std::string& test) {
    WriteWholeFile(folder_.File("train.csv"), train + "\n" + rows);
    WriteWholeFile(folder_.File("test.csv"), test + "\n" + rows);
    return Run(Task::kTrain, 1).status.message();
  };
  job_text_ =
      WithData("header = true\nlabel = \"y\"\n[[feature]]\ncolumns = [\"left\", \"right\"]\n");
  EXPECT_EQ(error("left,right,y", "left,right,y"), "");
  EXPECT_THAT(
      error("lefd,right,y", "left,right,y"),
      HasSubstr("job.toml:4:1: data.train: " + folder_.File("train.csv:1") + ": no column"));
  EXPECT_THAT(error("left,right,y", "lefd,right,y"),
              HasSubstr("job.toml:5:1: data.test: " + folder_.File("test.csv:1") + ": no column"));
  EXPECT_THAT(error("lefd,right,y", "lefd,right,y"), HasSubstr("job.toml:4:1: data.train: "))
      << "which the model is to learn from";
}

TEST_F(JobTasks, RawRecordsAreSharedAndTheirModelIsForNoColumns) {
  job_text_ = WithData("format = \"raw\"\nraw_slots = 2\nraw_label_type = \"int\"\n");
  std::string bytes;
  for (uint32_t i = 0; i < 500; ++i) {
    const uint32_t left = i * 7 % 12;
    const uint32_t right = i * 5 % 11;
    const std::array<uint32_t, 3> words = {(left ^ right) & 1, left, right};
    bytes.append(reinterpret_cast<const char*>(words.data()), sizeof(words));
  }
  WriteWholeFile(folder_.File("train.csv"), bytes.substr(0, 2400));
  WriteWholeFile(folder_.File("more"), bytes.substr(2400));
  WriteWholeFile(folder_.File("test.csv"), bytes);
  const std::string both =
      fmt::format("data.train={},{}", folder_.File("train.csv"), folder_.File("more"));
  std::vector<std::vector<std::string>> predictions;
  for (const size_t world : {1U, 3U}) {
    const Outcome trained =
        Run(Task::kTrain, world, {both, "train.epochs=20", "sparse.learning_rate=0.1"});
    ASSERT_TRUE(trained.status.ok()) << trained.status.ToString();
    EXPECT_EQ(trained.result.samples, 20 * 500U);
    EXPECT_GT(trained.result.metrics->auc, 0.9);
    for (const size_t readers : {1U, 2U, 4U}) {
      ASSERT_TRUE(Run(Task::kPredict, readers).status.ok());
      predictions.push_back(Predictions());
      EXPECT_EQ(predictions.back().size(), 500U);
      EXPECT_EQ(predictions.back(), predictions[predictions.size() / 4 * 3]);
    }
  }
  EXPECT_THAT(ClickModel::Read(folder_.File("model")).status().message(),
              HasSubstr("was trained with data.format = \"raw\""));
}

}  // namespace
}  // namespace strata
