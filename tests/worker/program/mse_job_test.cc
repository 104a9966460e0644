// Jobs whose labels are numbers: model.loss = "mse".
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "strata/click_model.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/program/run_job.h"
#include "worker/ctr/model_file.h"
#include "worker/tasks/result.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = R"([job]
name = "prices"
[data]
train = "rows.csv"
test = "rows.csv"
columns = ["kind", "size", "price"]
label = "price"
[[feature]]
columns = ["kind"]
[[feature]]
kind = "numeric"
columns = ["size"]
[model]
kind = "logistic"
loss = "mse"
[sparse]
optimizer = "sgd"
learning_rate = 0.5
[dense]
optimizer = "sgd"
learning_rate = 0.25
[train]
batch_size = 200
epochs = 6
[output]
model = "model"
predictions = "predictions.csv"
)";

struct House {
  std::string kind;
  double size = 0;
  double price = 0;
};

class MseJob : public testing::Test {
 protected:
  MseJob() {
    Random random(5);
    std::string text;
    for (int row = 0; row < 200; ++row) {
      const uint64_t kind = random.Below(4);
      const double size = std::round(random.Uniform() * 64) / 32 - 1;
      // Numbers of few binary digits, which texts hold exactly.
      const double price =
          static_cast<double>(kind) * 2 - 4 + 1.5 * size + (row % 4 == 0 ? 0.5 : 0);
      rows_.push_back({fmt::format("k{}", kind), size, price});
      text += fmt::format("k{},{},{}\n", kind, size, price);
    }
    WriteWholeFile(folder_.File("rows.csv"), text);
  }

  Result<TaskResult> Run(Task task, const std::vector<std::string>& overrides = {},
                         const std::string& job_text = kJob) {
    STRATA_ASSIGN(JobConfig job,
                  ParseJob(job_text, folder_.File("job.toml"), overrides, TaskName(task)));
    return RunJobAlone(task, job);
  }

  std::vector<double> Predictions() const {
    std::vector<double> numbers;
    std::istringstream lines(ReadWholeFile(folder_.File("predictions.csv")));
    for (std::string line; std::getline(lines, line);) {
      numbers.push_back(std::stod(line.substr(line.find(',') + 1)));
    }
    return numbers;
  }

  TempFolder folder_;
  std::vector<House> rows_;
};

// Linear regression by hand: six steps of gradient descent, each over all rows.
TEST_F(MseJob, IsLinearRegressionOfTheNumbers) {
  double bias = 0;
  double slope = 0;
  std::map<std::string, double> kinds;
  const auto predict = [&](const House& row) { return bias + slope * row.size + kinds[row.kind]; };
  const auto count = static_cast<double>(rows_.size());
  for (int step = 0; step < 6; ++step) {
    double of_bias = 0;
    double of_slope = 0;
    std::map<std::string, double> of_kinds;
    for (const House& row : rows_) {
      const double error = 2 * (predict(row) - row.price) / count;
      of_bias += error;
      of_slope += error * row.size;
      of_kinds[row.kind] += error;
    }
    bias -= 0.25 * of_bias;
    slope -= 0.25 * of_slope;
    for (const auto& [kind, change] : of_kinds) kinds[kind] -= 0.5 * change;
  }
  const auto trained = Run(Task::kTrain);
  ASSERT_TRUE(trained.ok()) << trained.status().ToString();
  ASSERT_TRUE(Run(Task::kPredict).ok());
  const std::vector<double> found = Predictions();
  ASSERT_EQ(found.size(), rows_.size());
  double squares = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], predict(rows_[i]), 1e-5) << i;
    squares += std::pow(predict(rows_[i]) - rows_[i].price, 2) / count;
  }
  EXPECT_NEAR(trained->metrics->mse, squares, 1e-5 * squares);
  EXPECT_LT(trained->metrics->mse, trained->metrics->base_mse / 2) << "it has learned";

  // What a program that links Strata sees of the model.
  const auto model = ClickModel::Read(folder_.File("model"));
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  std::vector<std::string_view> kind_texts;
  std::vector<double> sizes;
  std::vector<float> prices;
  for (const House& row : rows_) {
    kind_texts.push_back(row.kind);
    sizes.push_back(row.size);
    prices.push_back(static_cast<float>(row.price));
  }
  const ClickColumn columns[] = {{"kind", std::span<const std::string_view>(kind_texts)},
                                 {"size", std::span<const double>(sizes)}};
  const ClickRows rows{.columns = columns, .labels = prices};
  const auto linked = model->Predict(rows);
  ASSERT_TRUE(linked.ok()) << linked.status().ToString();
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR((*linked)[i], found[i], 1e-6);
  const auto metrics = model->Evaluate(rows);
  ASSERT_TRUE(metrics.ok()) << metrics.status().ToString();
  EXPECT_EQ(metrics->mse, trained->metrics->mse);
  EXPECT_TRUE(std::isnan(metrics->auc));
}

TEST_F(MseJob, EvaluateFindsWhatTrainingFoundAndBothNameTheErrors) {
  const std::vector<std::string> network = {"model.kind=deepfm", "model.embedding_dim=4",
                                            "sparse.learning_rate=0.05",
                                            "dense.learning_rate=0.01"};
  const auto trained = Run(Task::kTrain, network);
  ASSERT_TRUE(trained.ok()) << trained.status().ToString();
  EXPECT_EQ(LoadModel(RealDisk(), folder_.File("model"))->model.shape.loss, LossKind::kMse);
  const auto evaluated = Run(Task::kEvaluate, network);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
  EXPECT_EQ(evaluated->metrics->mse, trained->metrics->mse);
  EXPECT_TRUE(std::isnan(evaluated->metrics->auc));

  WorkerOptions options;
  options.task = Task::kEvaluate;
  const auto shown = nlohmann::json::parse(ResultJson(options, *evaluated, 1, 0))["metrics"];
  EXPECT_EQ(shown["mse"], evaluated->metrics->mse);
  EXPECT_EQ(shown["rmse"], std::sqrt(evaluated->metrics->mse));
  EXPECT_FALSE(shown.contains("auc") || shown.contains("logloss"));
  EXPECT_THAT(ResultTable(options, *evaluated, 1, 0), HasSubstr("errors        RMSE "));
}

TEST_F(MseJob, TheBestModelIsThatOfTheSmallestErrorAlsoOfARunThatGoesOn) {
  const std::vector<std::string> job = {"train.eval_every_steps=1", "train.early_stopping=100",
                                        "checkpoint.every_steps=1",
                                        "checkpoint.folder=" + folder_.File("checkpoints")};
  std::vector<std::string> first = job;
  first.emplace_back("train.epochs=3");
  ASSERT_TRUE(Run(Task::kTrain, first).ok());
  const auto resumed = Run(Task::kTrain, job);
  ASSERT_TRUE(resumed.ok()) << resumed.status().ToString();
  EXPECT_TRUE(resumed->resumed_from.has_value());
  EXPECT_EQ(resumed->early_stopping->best_by, "mse");
  EXPECT_EQ(resumed->early_stopping->best_steps, 6U) << "each step makes it smaller";
  const auto unbroken = Run(Task::kTrain, {"output.model=" + folder_.File("other")});
  EXPECT_EQ(resumed->metrics->mse, unbroken->metrics->mse);
}

TEST_F(MseJob, AModelOfAnotherLossIsRefused) {
  ASSERT_TRUE(Run(Task::kTrain).ok());
  WriteWholeFile(folder_.File("rows.csv"), "k1,0.5,1\nk2,0.25,0\n");
  const Status other = Run(Task::kEvaluate, {"model.loss=logloss"}).status();
  EXPECT_EQ(other.code(), StatusCode::kInvalid);
  EXPECT_THAT(other.message(), HasSubstr("job.toml: model.loss = \"logloss\", but the model in"));
  EXPECT_THAT(other.message(), HasSubstr("was trained with \"mse\""));
}

TEST_F(MseJob, LabelsAreFiniteNumbersOfAnyFormat) {
  WriteWholeFile(folder_.File("rows.csv"), "k1,0.5,none\n");
  EXPECT_THAT(Run(Task::kTrain).status().ToString(), HasSubstr("the label 'none' is no finite"));
  const auto with_data = [](const std::string& data) {
    const std::string job = kJob;
    return "[data]\ntrain = \"rows\"\ntest = \"rows\"\n" + data + job.substr(job.find("[model]"));
  };
  WriteWholeFile(folder_.File("rows"), "-1 0:a:1\n2.5 0:b:1\n");
  const std::string libffm = with_data("format = \"libffm\"\n");
  const auto sparse = Run(Task::kTrain, {"train.epochs=1"}, libffm);
  ASSERT_TRUE(sparse.ok()) << sparse.status().ToString();
  EXPECT_DOUBLE_EQ(sparse->metrics->base_mse, 1.75 * 1.75) << "-1 is no 0";

  const auto record = [](float label) {
    std::string bytes;
    for (const uint32_t word : {std::bit_cast<uint32_t>(label), 7U}) {
      bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
    }
    return bytes;
  };
  const std::string raw = with_data("format = \"raw\"\nraw_slots = 1\n");
  WriteWholeFile(folder_.File("rows"), record(-3) + record(5));
  const auto trained = Run(Task::kTrain, {"train.epochs=1"}, raw);
  ASSERT_TRUE(trained.ok()) << trained.status().ToString();
  EXPECT_DOUBLE_EQ(trained->metrics->base_mse, 16);
  WriteWholeFile(folder_.File("rows"), record(-3) + record(INFINITY));
  EXPECT_THAT(Run(Task::kTrain, {}, raw).status().ToString(),
              HasSubstr("expected a finite label, found inf"));
}

TEST_F(MseJob, WhatDoesNotGoWithItIsSaid) {
  const auto why = [&](const std::vector<std::string>& overrides) {
    return ParseJob(kJob, "job.toml", overrides).status().ToString();
  };
  const std::vector<std::string> stops = {"train.early_stopping=2", "train.eval_every=1"};
  const auto stopping_by = [&](const std::string& metric, const std::string& loss) {
    std::vector<std::string> overrides = stops;
    overrides.insert(overrides.end(), {"train.best_by=" + metric, "model.loss=" + loss});
    return why(overrides);
  };
  EXPECT_THAT(stopping_by("auc", "mse"),
              HasSubstr("command line: train.best_by is \"auc\", which a model of model.loss = "
                        "\"mse\" has not: remove it"));
  EXPECT_THAT(stopping_by("mse", "logloss"),
              HasSubstr("train.best_by is \"mse\", which a model of model.loss = \"logloss\" has "
                        "not: name another metric"));
  EXPECT_EQ(stopping_by("mse", "mse"), "OK");
  EXPECT_THAT(why({"data.group=kind"}),
              HasSubstr("data.group has no effect on model.loss = \"mse\", which has no AUC"));
  EXPECT_THAT(why({"model.loss=mae"}), HasSubstr("model.loss must be one of logloss, mse"));
}

}  // namespace
}  // namespace strata
