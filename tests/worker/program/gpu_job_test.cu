// The tasks of a click model's job on a GPU: training, resuming, evaluating and predicting.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "tests/support/device_memory.cuh"
#include "tests/support/temp_folder.h"
#include "tests/worker/program/run_job.h"
#include "tests/worker/xor_data.h"
#include "worker/tasks/session.h"

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
kind = "deepfm"
embedding_dim = 4
hidden = [8]
[sparse]
optimizer = "adagrad"
[train]
batch_size = 100
epochs = 3
[output]
model = "model"
predictions = "predictions.csv"
)";
// The same features in tables of several lengths, one of which has a rule of its own.
constexpr char kTables[] = R"(
[[table]]
name = "lefts"
features = ["left"]
dim = 6
[[table]]
name = "rights"
features = ["right"]
dim = 3
optimizer = "adam"
learning_rate = 0.01
)";
// The layers of a network of its own.
constexpr char kLayers[] = R"([[layer]]
name = "normal"
type = "batch_norm"
inputs = ["embeddings"]
[[layer]]
name = "hidden"
inputs = ["normal"]
widths = [8]
activation = "relu"
[[layer]]
name = "logit"
inputs = ["hidden"]
widths = [1]
)";
// A kind of model, and the sections of its tables or layers.
struct Kind {
  const char* name;
  const char* sections = "";
};
constexpr Kind kKinds[] = {
    {"deepfm"}, {"dcn"}, {"wide_deep", kTables}, {"dcn_v2", kTables}, {"layers", kLayers}};
constexpr size_t kRows = 500;
constexpr size_t kTestRows = 300;

class GpuJobTest : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_SKIP_BELOW_GPUS(1);
    WriteWholeFile(folder_.File("train.csv"), XorCsv(kRows, 12, 1));
    WriteWholeFile(folder_.File("test.csv"), XorCsv(kTestRows, 12, 2));
  }

  // Runs a task in a process's session of its own: empty tables, and the folder's files. It ends
  // after `steps_max` steps, like a process that dies between two steps.
  Result<TaskResult> Run(Task task, const Kind& kind, std::vector<std::string> overrides,
                         uint64_t steps_max = UINT64_MAX) {
    overrides.push_back(fmt::format("model.kind={}", kind.name));
    Result<JobConfig> job =
        ParseJob(std::string(kJob) + kind.sections, folder_.File("job.toml"), overrides);
    if (!job.ok()) return job.status();
    uint64_t steps = 0;
    return RunJobAlone(task, *job, {.check = [&] {
                         return ++steps == steps_max ? Cancelled("dead") : Status::Ok();
                       }});
  }

  std::vector<double> Predictions() const {
    std::vector<double> values;
    std::istringstream stream(ReadWholeFile(folder_.File("predictions.csv")));
    for (std::string line; std::getline(stream, line);) {
      values.push_back(std::stod(line.substr(line.find(',') + 1)));
    }
    return values;
  }

  // The mean log loss of the test file, from its labels and the written predictions.
  double LogLossByHand() const {
    const std::vector<double> predictions = Predictions();
    std::istringstream rows(ReadWholeFile(folder_.File("test.csv")));
    double sum = 0;
    size_t row = 0;
    for (std::string line; std::getline(rows, line); ++row) {
      const double p = predictions.at(row);
      sum -= line.back() == '1' ? std::log(p) : std::log1p(-p);
    }
    EXPECT_EQ(row, predictions.size());
    return sum / static_cast<double>(row);
  }

  // Those of a model that was written into an empty folder.
  std::string ModelBytes(const std::string& model) const {
    std::map<std::string, std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder_.File(model))) {
      files[file.path().filename()] = ReadWholeFile(file.path());
    }
    std::string all;
    for (const auto& [name, bytes] : files) all += name + bytes;
    return all;
  }

  TempFolder folder_;
};

// Within an epoch rows and dense part are on the GPU, and a step is under way there.
TEST_F(GpuJobTest, EvaluationsBetweenStepsChangeNoBitAndTheBestModelIsKept) {
  for (const auto& [kind, placement] : std::initializer_list<std::pair<Kind, std::string>>{
           {kKinds[0], "auto"}, {kKinds[0], "gpu"}, {kKinds[2], "auto"}, {kKinds[2], "gpu"}}) {
    const std::string models = fmt::format("{}_{}_", kind.name, placement);
    SCOPED_TRACE(models);
    const auto train = [&](const std::string& model, std::vector<std::string> more) {
      more.insert(more.end(), {"compute.device=cuda", "sparse.placement=" + placement,
                               "output.model=" + folder_.File(models + model)});
      return Run(Task::kTrain, kind, more);
    };
    ASSERT_TRUE(train("plain", {}).ok());
    const Result<TaskResult> evaluated = train("evaluated", {"train.eval_every_steps=1"});
    ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
    EXPECT_TRUE(ModelBytes(models + "evaluated") == ModelBytes(models + "plain"));
    const Result<TaskResult> stopped =
        train("best", {"train.eval_every_steps=2", "train.early_stopping=2", "train.epochs=6"});
    ASSERT_TRUE(stopped.ok()) << stopped.status().ToString();
    ASSERT_TRUE(stopped->early_stopping.has_value());
    const Result<TaskResult> of_best =
        Run(Task::kEvaluate, kind,
            {"compute.device=cuda", "output.model=" + folder_.File(models + "best")});
    ASSERT_TRUE(of_best.ok()) << of_best.status().ToString();
    EXPECT_EQ(of_best->metrics->auc, stopped->metrics->auc);
    EXPECT_DOUBLE_EQ(of_best->metrics->logloss, stopped->metrics->logloss);
    EXPECT_TRUE(stopped->stages.has_value());
  }
}

TEST_F(GpuJobTest, TrainsEvaluatesAndPredictsOneModel) {
  for (const Kind& kind : kKinds) {
    for (const char* placement : {"auto", "gpu"}) {
      SCOPED_TRACE(fmt::format("{}, placement {}", kind.name, placement));
      const std::vector<std::string> on_gpu = {"compute.device=cuda",
                                               fmt::format("sparse.placement={}", placement)};
      const Result<TaskResult> trained = Run(Task::kTrain, kind, on_gpu);
      ASSERT_TRUE(trained.ok()) << trained.status().ToString();
      EXPECT_EQ(trained->samples, 3 * kRows);
      const Result<TaskResult> evaluated = Run(Task::kEvaluate, kind, on_gpu);
      ASSERT_TRUE(evaluated.ok()) << evaluated.status().ToString();
      ASSERT_TRUE(Run(Task::kPredict, kind, on_gpu).ok());
      EXPECT_DOUBLE_EQ(evaluated->metrics->logloss, trained->metrics->logloss);
      EXPECT_NEAR(evaluated->metrics->logloss, LogLossByHand(), 1e-5);
      // The file is the model: a machine without a GPU predicts nearly the same from it.
      const std::vector<double> of_gpu = Predictions();
      ASSERT_TRUE(Run(Task::kPredict, kind, {"compute.device=cpu"}).ok());
      const std::vector<double> of_cpu = Predictions();
      ASSERT_EQ(of_cpu.size(), kTestRows);
      for (size_t row = 0; row < kTestRows; ++row) {
        EXPECT_NEAR(of_gpu[row], of_cpu[row], 0.02) << row;
      }
    }
  }
}

TEST_F(GpuJobTest, TrainsTheModelOfTheCpu) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    const auto predictions = [&](const std::vector<std::string>& overrides) {
      EXPECT_TRUE(Run(Task::kTrain, kind, overrides).ok());
      EXPECT_TRUE(Run(Task::kPredict, kind, overrides).ok());
      return Predictions();
    };
    const std::vector<double> of_cpu = predictions({"compute.device=cpu"});
    ASSERT_EQ(of_cpu.size(), kTestRows);
    for (const char* placement : {"auto", "gpu"}) {
      const std::vector<double> of_gpu =
          predictions({"compute.device=cuda", "compute.precision=fp32",
                       fmt::format("sparse.placement={}", placement)});
      ASSERT_EQ(of_gpu.size(), kTestRows);
      for (size_t row = 0; row < kTestRows; ++row) {
        EXPECT_NEAR(of_gpu[row], of_cpu[row], 1e-4) << row << ", placement " << placement;
      }
    }
  }
}

TEST_F(GpuJobTest, EndsWithTheVeryModelOfTheUnbrokenRun) {
  for (const Kind& kind : {kKinds[0], kKinds[2], kKinds[4]}) {
    for (const char* placement : {"auto", "gpu"}) {
      SCOPED_TRACE(fmt::format("{}, placement {}", kind.name, placement));
      const std::vector<std::string> unbroken = {
          "compute.device=cuda", fmt::format("sparse.placement={}", placement),
          fmt::format("output.model={}", folder_.File("unbroken"))};
      ASSERT_TRUE(Run(Task::kTrain, kind, unbroken).ok());
      const std::vector<std::string> on_gpu = {
          unbroken[0], unbroken[1], "checkpoint.every_steps=4",
          fmt::format("checkpoint.folder={}", folder_.File("checkpoints"))};
      for (const uint64_t steps : {5, 6}) {
        EXPECT_EQ(Run(Task::kTrain, kind, on_gpu, steps).status().code(), StatusCode::kCancelled);
      }
      const Result<TaskResult> resumed = Run(Task::kTrain, kind, on_gpu);
      ASSERT_TRUE(resumed.ok()) << resumed.status().ToString();
      EXPECT_TRUE(resumed->resumed_from.has_value());
      EXPECT_TRUE(ModelBytes("model") == ModelBytes("unbroken"));
      for (const char* folder : {"checkpoints", "model", "unbroken"}) {
        std::filesystem::remove_all(folder_.File(folder));
      }
    }
  }
}

TEST_F(GpuJobTest, TablesThatHaveNoRoomAreAnError) {
  std::string csv;
  for (int row = 0; row < 200; ++row) csv += fmt::format("a,b,c,d,e,f,{}\n", row % 2);
  WriteWholeFile(folder_.File("train.csv"), csv);
  WriteWholeFile(folder_.File("test.csv"), csv);
  std::string text = kJob;
  std::string tables;
  for (const char* column : {"a", "b", "c", "d", "e", "f"}) {
    tables += fmt::format("\n[[table]]\nname = \"of_{0}\"\nfeatures = [\"{0}\"]", column);
  }
  const auto put = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put(R"("left", "right", "y")", R"("a", "b", "c", "d", "e", "f", "y")");
  put(R"("left", "right")", R"("a", "b", "c", "d", "e", "f")");
  const std::vector<std::string> overrides = {"compute.device=cuda", "sparse.placement=gpu",
                                              "compute.gpu_memory=32MiB"};
  const Result<JobConfig> job = ParseJob(text + tables, folder_.File("job.toml"), overrides);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  const Status status = RunJobAlone(Task::kTrain, *job).status();
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("job.toml: sparse.placement: table 'xor.of_f': "));
  EXPECT_THAT(status.message(), HasSubstr("use a larger compute.gpu_memory, or fewer [[table]]s"));
}

TEST_F(GpuJobTest, AGpuThatTheMachineLacksIsAnError) {
  const Result<TaskResult> absent = Run(Task::kTrain, kKinds[0], {"compute.device=cuda:99"});
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(absent.status().message(), HasSubstr("compute.device"));
  EXPECT_THAT(absent.status().message(), HasSubstr("99"));
}

}  // namespace
}  // namespace strata
