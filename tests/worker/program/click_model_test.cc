// The public face of click models, beside a job over the same rows in a file.
#include "strata/click_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/program/run_job.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = R"([job]
name = "clicks"
seed = 7
[data]
train = "train.csv"
test = "train.csv"
header = true
label = "click"
weight = "weight"
[[feature]]
columns = ["user", "site"]
[[feature]]
columns = ["age"]
kind = "numeric"
transforms = ["log", "standardise"]
[[feature]]
columns = ["price"]
kind = "bucketised"
buckets = 8
[model]
hidden = [16, 4]
dropout = 0.1
l2 = 0.001
[train]
batch_size = 64
epochs = 2
shuffle_rows = 100
[output]
model = "model"
predictions = "predictions.csv"
)";

// The rows of the job's file.
struct Rows {
  std::vector<std::string> users;
  std::vector<std::string_view> user_texts;
  std::vector<int64_t> sites;
  std::vector<double> ages;
  std::vector<double> prices;
  std::vector<float> clicks;
  std::vector<float> weights;
  std::vector<ClickColumn> columns;

  explicit Rows(size_t count) {
    constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
    Random random(3);
    for (size_t row = 0; row < count; ++row) {
      const uint64_t user = random.Below(30);
      users.push_back(user == 0 ? "" : fmt::format("user {}", user));
      sites.push_back(static_cast<int64_t>(random.Below(9)) - 4);
      ages.push_back(row % 17 == 3 ? kMissing : 10 + 70 * random.Uniform());
      prices.push_back(row % 23 == 5 ? kMissing : random.Uniform() - 0.5);
      clicks.push_back(random.Uniform() < (user % 3 == 0 ? 0.8 : 0.2) ? 1.0F : 0.0F);
      weights.push_back(static_cast<float>(1 + random.Below(3)));
    }
    user_texts.assign(users.begin(), users.end());
    columns = {{"user", std::span<const std::string_view>(user_texts)},
               {"unused", std::span<const float>(weights)},
               {"price", std::span<const double>(prices)},
               {"site", std::span<const int64_t>(sites)},
               {"age", std::span<const double>(ages)}};
  }

  ClickRows View() const { return {.columns = columns, .labels = clicks, .weights = weights}; }

  std::string Csv() const {
    const auto number = [](double x) { return std::isnan(x) ? "" : fmt::format("{}", x); };
    std::string text = "click,weight,user,site,age,price\n";
    for (size_t row = 0; row < users.size(); ++row) {
      text += fmt::format("{},{},{},{},{},{}\n", clicks[row], weights[row], users[row], sites[row],
                          number(ages[row]), number(prices[row]));
    }
    return text;
  }
};

ClickTraining Training() {
  ClickTraining training;
  training.features = {
      {.column = "user", .kind = FeatureKind::kCategorical},
      {.column = "site", .kind = FeatureKind::kCategorical},
      {.column = "age", .kind = FeatureKind::kNumeric, .log = true, .standardise = true},
      {.column = "price", .kind = FeatureKind::kBucketised, .buckets = 8}};
  training.hidden = {16, 4};
  training.dropout = 0.1F;
  training.l2 = 0.001F;
  training.batch_size = 64;
  training.epochs = 2;
  training.shuffle_rows = 100;
  training.seed = 7;
  return training;
}

class ClickModelTest : public testing::Test {
 protected:
  TaskResult RunJob(Task task, const std::vector<std::string>& overrides) {
    WriteWholeFile(folder_.File("train.csv"), rows_.Csv());
    auto job = ParseJob(kJob, folder_.File("job.toml"), overrides);
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    if (!job.ok()) return {};
    auto result = RunJobAlone(task, *job);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? std::move(result).value() : TaskResult{};
  }

  std::string Bytes(const std::string& folder, const std::string& what) const {
    return ReadWholeFile(folder_.File(folder + "/" + what + "-1.bin"));
  }

  Status WhyNot(const ClickRows& rows, const ClickTraining& training = Training()) const {
    return ClickModel::Train(rows, training).status();
  }

  TempFolder folder_;
  Rows rows_{700};
};

TEST_F(ClickModelTest, TrainsWhatAJobTrainsFromAFileToTheBit) {
  for (const ModelKind kind : {ModelKind::kLogistic, ModelKind::kFm, ModelKind::kDeepFm}) {
    SCOPED_TRACE(ModelKindName(kind));
    std::vector<std::string> overrides = {fmt::format("model.kind={}", ModelKindName(kind)),
                                          fmt::format("output.model={}", folder_.File("by_job"))};
    std::filesystem::remove_all(folder_.File("by_job"));
    std::filesystem::remove_all(folder_.File("own"));
    const TaskResult trained = RunJob(Task::kTrain, overrides);
    ClickTraining training = Training();
    training.kind = kind;
    if (kind != ModelKind::kDeepFm) training.dropout = 0;
    const auto model = ClickModel::Train(rows_.View(), training);
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    ASSERT_TRUE(model->Write(folder_.File("own/model")).ok());
    for (const char* what : {"features", "dense", "sparse"}) {
      EXPECT_FALSE(Bytes("by_job", what).empty());
      EXPECT_EQ(Bytes("own/model", what), Bytes("by_job", what)) << what;
    }

    const auto metrics = model->Evaluate(rows_.View());
    ASSERT_TRUE(metrics.ok()) << metrics.status().ToString();
    ASSERT_TRUE(trained.metrics.has_value());
    EXPECT_EQ(metrics->auc, trained.metrics->auc);
    EXPECT_EQ(metrics->logloss, trained.metrics->logloss);
    EXPECT_EQ(metrics->calibration, trained.metrics->calibration);
  }
}

TEST_F(ClickModelTest, PredictsWhatAJobPredicts) {
  RunJob(Task::kTrain, {});
  RunJob(Task::kPredict, {});
  const auto model = ClickModel::Read(folder_.File("model"));
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->kind(), ModelKind::kDeepFm);
  EXPECT_EQ(model->features(), Training().features);
  ClickRows unlabelled = rows_.View();
  unlabelled.labels = {};
  const auto predicted = model->Predict(unlabelled);
  ASSERT_TRUE(predicted.ok()) << predicted.status().ToString();
  ASSERT_EQ(predicted->size(), rows_.users.size());

  std::istringstream lines(ReadWholeFile(folder_.File("predictions.csv")));
  size_t row = 0;
  for (std::string line; std::getline(lines, line); ++row) {
    const std::string text = line.substr(line.find(',') + 1);
    EXPECT_FLOAT_EQ((*predicted)[row], std::stof(text)) << line;
  }
  EXPECT_EQ(row, predicted->size());
}

TEST_F(ClickModelTest, AReadModelIsTheWrittenOne) {
  const auto trained = ClickModel::Train(rows_.View(), Training());
  ASSERT_TRUE(trained.ok()) << trained.status().ToString();
  ASSERT_TRUE(trained->Write(folder_.File("model")).ok());
  const auto read = ClickModel::Read(folder_.File("model"));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const auto predicted = trained->Predict(rows_.View());
  ASSERT_TRUE(predicted.ok());
  EXPECT_EQ(*predicted, read->Predict(rows_.View()).value());
  ASSERT_TRUE(read->Write(folder_.File("again")).ok());
  EXPECT_EQ(Bytes("again", "sparse"), Bytes("model", "sparse"));
  for (const Status& status : {read->Write(""), ClickModel::Read("").status()}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_EQ(status.message(), "the path of the model's folder is empty");
  }

  // Each thread predicts rows of its own, whatever the others do.
  std::vector<std::vector<float>> parts(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& part : parts) {
    threads.emplace_back([&] { part = read->Predict(rows_.View()).value(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& part : parts) EXPECT_EQ(part, *predicted);
}

TEST_F(ClickModelTest, ReportsEachStepAndStopsWhenAsked) {
  ClickTraining training = Training();
  uint64_t steps = 0;
  training.stepped = [&](const ClickStep& step) {
    EXPECT_EQ(step.step, ++steps);
    EXPECT_EQ(step.epoch, steps <= 11 ? 1U : 2U);  // 700 rows are 11 steps of at most 64
    EXPECT_GT(step.loss, 0);
    return steps == 15 ? Cancelled("enough") : Status::Ok();
  };
  EXPECT_EQ(WhyNot(rows_.View(), training).ToString(), Cancelled("enough").ToString());
  EXPECT_EQ(steps, 15U);
}

TEST_F(ClickModelTest, SaysWhatIsWrongWithRows) {
  const std::vector<std::string_view> texts(rows_.users.size(), "abc");
  std::vector<ClickColumn> columns = rows_.columns;
  ClickRows rows = rows_.View();
  rows.columns = columns;

  columns[4].values = std::span<const std::string_view>(texts);
  EXPECT_THAT(WhyNot(rows).ToString(),
              HasSubstr("rows: row 1, column 'age': 'abc' is no finite number"));
  columns[4].name = "years";
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("rows: no column 'age', which feature numeric"));
  columns = rows_.columns;
  columns[0].values = std::span<const double>(rows_.ages);
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("column 'user' has floating-point numbers"));
  columns = rows_.columns;
  columns[3].values = std::span<const int64_t>(rows_.sites).first(3);
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("column 'user' has 700 values, column 'site' 3"));
  columns = rows_.columns;
  columns[1].name = "age";
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("two columns have the name 'age'"));
  columns = rows_.columns;
  std::vector<double> infinite = rows_.ages;
  infinite[8] = std::numeric_limits<double>::infinity();
  columns[4].values = std::span<const double>(infinite);
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("rows: row 9, column 'age': inf is beyond"));

  rows = rows_.View();
  rows.labels = rows.labels.first(5);
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("rows: 5 labels for 700 rows"));
  std::vector<float> labels = rows_.clicks;
  labels[2] = 0.5F;
  rows.labels = labels;
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("rows: row 3: label 0.5 is neither 0 nor 1"));
  rows = rows_.View();
  std::vector<float> weights = rows_.weights;
  weights[1] = -1;
  rows.weights = weights;
  EXPECT_THAT(WhyNot(rows).ToString(), HasSubstr("rows: row 2: weight -1: expected 0 or more"));
  EXPECT_THAT(WhyNot(Rows(0).View()).ToString(), HasSubstr("rows: there are none to train on"));
}

TEST_F(ClickModelTest, SaysWhatIsWrongWithSettings) {
  const auto why = [&](void (*change)(ClickTraining&)) {
    ClickTraining training = Training();
    change(training);
    return WhyNot(rows_.View(), training).ToString();
  };
  EXPECT_THAT(why([](auto& t) { t.features.clear(); }), HasSubstr("features: there are none"));
  EXPECT_THAT(why([](auto& t) { t.features[3].buckets = 1; }),
              HasSubstr("buckets of feature 'price' is 1: expected 2 to 65536"));
  EXPECT_THAT(why([](auto& t) { t.features[0].buckets = 4; }),
              HasSubstr("buckets of feature 'user': only bucketised features have them"));
  EXPECT_THAT(why([](auto& t) { t.features[0].log = true; }),
              HasSubstr("feature 'user': log and standardise are for numeric features"));
  EXPECT_THAT(why([](auto& t) { t.features.push_back(t.features[0]); }),
              HasSubstr("features: categorical 'user' is there twice"));
  EXPECT_THAT(why([](auto& t) { t.kind = ModelKind::kFm; }),
              HasSubstr("dropout has no effect on a fm model"));
  EXPECT_THAT(why([](auto& t) { t.batch_size = 0; }), HasSubstr("batch_size is 0"));
  EXPECT_THAT(why([](auto& t) { t.epochs = 0; }), HasSubstr("epochs is 0"));
  EXPECT_THAT(why([](auto& t) { t.threads = 0; }), HasSubstr("threads is 0"));
  EXPECT_THAT(why([](auto& t) { t.dropout = 1; }), HasSubstr("dropout is 1"));
  EXPECT_THAT(why([](auto& t) { t.hidden = {}; }), HasSubstr("0 hidden layers"));
  EXPECT_THAT(why([](auto& t) { t.dense_optimizer.kind = OptimizerKind::kLazyAdam; }),
              HasSubstr("dense_optimizer: lazy_adam is for rows alone"));
  EXPECT_THAT(why([](auto& t) { t.rows_optimizer.learning_rate = -1; }),
              HasSubstr("rows_optimizer.learning_rate"));
  EXPECT_EQ(ClickModel::Read(folder_.File("none")).status().code(), StatusCode::kNotFound);
}

// The setting of the job file, or of its features.
const Setting& JobSetting(const std::string& key) {
  const SettingsTable& table = JobSettingsTable();
  for (const Setting& setting : table.settings) {
    if (setting.key == key) return setting;
  }
  return *std::ranges::find(table.repeated[0].settings, key, &Setting::key);
}

TEST_F(ClickModelTest, SettingsHaveTheBoundsThatTheyHaveInJobFiles) {
  const std::tuple<const char*, const char*, void (*)(ClickTraining&, double)> cases[] = {
      {"model.dropout", "dropout", [](auto& t, double x) { t.dropout = static_cast<float>(x); }},
      {"model.l2", "l2", [](auto& t, double x) { t.l2 = static_cast<float>(x); }},
      {"train.batch_size", "batch_size",
       [](auto& t, double x) { t.batch_size = static_cast<uint32_t>(x); }},
      {"train.epochs", "epochs", [](auto& t, double x) { t.epochs = static_cast<uint32_t>(x); }},
      {"buckets", "buckets of feature 'price'",
       [](auto& t, double x) { t.features[3].buckets = static_cast<uint32_t>(x); }}};
  for (const auto& [key, name, set] : cases) {
    const Setting& setting = JobSetting(key);
    ClickTraining training = Training();
    set(training, 2 * setting.max);
    training.stepped = [](const ClickStep&) { return Cancelled("the setting was taken"); };
    const std::string why = WhyNot(rows_.View(), training).ToString();
    EXPECT_THAT(why, HasSubstr(fmt::format("{} is ", name)));
    EXPECT_THAT(why, HasSubstr(fmt::format(": expected {} to {}", setting.min, setting.max)));
  }
}

}  // namespace
}  // namespace strata
