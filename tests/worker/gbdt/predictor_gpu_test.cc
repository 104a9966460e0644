// Predictions on a GPU: those of the CPU, to the bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "kernels/tree/grow/gpu_leaves.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/golden_model.h"
#include "tests/worker/gbdt/hard_array.h"
#include "tests/worker/gbdt/random_model.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/predict/predictor.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

constexpr DeviceChoice kGpu = {.kind = DeviceKind::kCuda, .ordinal = 0};

std::vector<double> Predicted(const TreeModel& model, const SparseRows& rows,
                              PredictOptions options, const DeviceChoice& device) {
  options.device = device;
  const Result<Predictor> predictor = Predictor::Make(model, options);
  EXPECT_TRUE(predictor.ok()) << predictor.status().ToString();
  if (!predictor.ok()) return {};
  EXPECT_EQ(predictor->on_gpu(), device.kind == DeviceKind::kCuda);
  const auto pool = WorkPool::Start("test", 2);
  std::vector<double> out(3, 7);
  EXPECT_TRUE(predictor->Predict(rows, **pool, &out).ok());
  const std::vector<double> first = out;
  EXPECT_TRUE(predictor->Predict(rows, **pool, &out).ok());  // memory that was used before
  EXPECT_EQ(out, first);
  return out;
}

struct Shape {
  std::string name;
  RandomModelOptions options;
  std::string objective;
};

class GpuPrediction : public testing::TestWithParam<Shape> {};

TEST_P(GpuPrediction, IsThatOfTheCpu) {
  if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    TreeModel model = RandomModel(GetParam().options, random);
    model.objective = GetParam().objective;
    const SparseRows rows =
        ToSparse(RandomRows(model.features(), seed == 3 ? 0 : 300 * seed, random));
    for (const PredictOptions& options : std::vector<PredictOptions>{
             {},
             {.kind = PredictionKind::kRaw},
             {.kind = PredictionKind::kLeaves},
             {.kind = PredictionKind::kRaw, .start_iteration = 1, .iterations = 2},
             {.kind = PredictionKind::kLeaves, .start_iteration = 100},
             {.kind = PredictionKind::kRaw, .early_stop = {.freq = 2, .margin = 0.7}}}) {
      EXPECT_EQ(Predicted(model, rows, options, kGpu), Predicted(model, rows, options, {}))
          << "seed " << seed << ", kind " << static_cast<int>(options.kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuPrediction,
    testing::Values(
        Shape{"Binary", {.iterations = 12, .leaves = 40}, "binary sigmoid:2"},
        Shape{"Categorical",
              {.iterations = 9, .leaves = 30, .categorical = true},
              "binary sigmoid:1"},
        Shape{"Multiclass",
              {.classes = 3, .iterations = 7, .leaves = 20, .categorical = true},
              "multiclass num_class:3"},
        Shape{"Parallel",
              {.classes = 3, .parallel = 2, .iterations = 6, .leaves = 20},
              "multiclass num_class:3"},
        Shape{"ParallelBinary", {.parallel = 3, .iterations = 6, .leaves = 20}, "binary sigmoid:1"},
        Shape{"Constants", {.iterations = 3, .leaves = 1}, "binary sigmoid:1"},
        // Trees, and rows, that shared memory has no room for.
        Shape{"Large", {.features = 9, .iterations = 3, .leaves = 700}, "binary sigmoid:1"},
        Shape{"Wide", {.features = 90, .iterations = 8, .leaves = 60}, "binary sigmoid:1"}),
    [](const auto& param) { return param.param.name; });

// The task on a file of each kind.
TEST(GpuPredictionTask, OfFilesIsThatOfTheCpu) {
  SimDisk disk;
  const auto put = [&](const std::string& path, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(disk, path, text).ok());
  };
  const auto get = [&](const std::string& path) { return *ReadFile(disk, path, 1 << 24); };
  put("f.npy", HardArray<float>(1, 4000, 11));
  put("d.npy", HardArray<double>(2, 4000, 11));
  std::string text;
  Random random(3);
  for (int row = 0; row < 700; ++row) {
    text += fmt::format("{},{}", row % 2, row % 4);
    for (size_t f = 0; f < 11; ++f) {
      text += fmt::format(",{}", HardValue(random, f));
    }
    text += '\n';
  }
  put("t.csv", text);
  const auto run = [&](std::vector<std::string> conf) -> Status {
    STRATA_ASSIGN(const TreeParameters p, ParseLightGbmConf("", "test", conf));
    return RunTreeTask(p, {.disk = disk,
                           .clock = RealClock(),
                           .progress = [](const TreeProgress&) {},
                           .check = [] { return Status(); }})
        .status();
  };
  const Status trained =
      run({"data=f.npy", "objective=binary", "num_iterations=8", "weight_column=0",
           "ignore_column=4", "output_model=m", "min_data_in_leaf=5"});
  ASSERT_TRUE(trained.ok()) << trained.ToString();
  // A threshold that tells small numbers from 0, as models of others may have.
  Result<TreeModel> model = ReadLightGbmText(get("m"), "m");
  ASSERT_TRUE(model.ok());
  for (Tree& tree : model->trees) {
    for (TreeNode& node : tree.nodes) {
      if (!node.categorical && std::fabs(node.threshold) < 1e-30) node.threshold = 0;
    }
  }
  put("m", *WriteLightGbmText(*model));
  for (const std::string data : {"f.npy", "d.npy", "t.csv"}) {
    for (const std::string kind : {"predict_raw_score=true", "predict_leaf_index=true",
                                   "predict_contrib=true", "pred_early_stop=false"}) {
      const auto predict = [&](const std::string& device) {
        const Status status =
            run({"task=predict", "data=" + data, "input_model=m", "output_result=out", kind,
                 "weight_column=0", "ignore_column=4", "device_type=" + device});
        return status.ok() ? get("out") : status.ToString();
      };
      const std::string gpu = predict("cuda");
      if (GpuLeaves::Devices() == 0) {
        if (kind == "predict_contrib=true") continue;
        EXPECT_NE(gpu.find("GPU"), std::string::npos) << gpu;
        EXPECT_EQ(predict("auto"), predict("cpu"));
        continue;
      }
      EXPECT_EQ(gpu, predict("cpu")) << data << ", " << kind;
      EXPECT_GT(std::ranges::count(gpu, '\n'), 600);
      EXPECT_EQ(predict("auto"), gpu);
    }
  }
}

}  // namespace
}  // namespace strata
