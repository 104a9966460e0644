// Predictions with models of CatBoost on a GPU: those of the CPU, to the bit.
#include <gtest/gtest.h>

#include <memory>

#include "base/clock.h"
#include "kernels/tree/grow/gpu_leaves.h"
#include "tests/support/golden.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/golden_catboost.h"
#include "tests/worker/gbdt/catboost/random_catboost.h"
#include "worker/gbdt/catboost/catboost_predictor.h"
#include "worker/tasks/catboost/calc_task.h"

namespace strata {
namespace {

constexpr DeviceChoice kGpu = {.kind = DeviceKind::kCuda, .ordinal = 0};

void ExpectThoseOfTheCpu(const CatBoostModel& model, std::vector<CatBoostRows> blocks,
                         const std::string& where) {
  const auto pool = WorkPool::Start("test", 2);
  const Result<CatBoostPredictor> gpu = CatBoostPredictor::Make(model, kGpu);
  ASSERT_TRUE(gpu.ok()) << gpu.status().ToString();
  ASSERT_TRUE(gpu->on_gpu());
  for (const CatBoostRows& rows : blocks) {  // memory that was used before among them
    std::vector<double> raw(rows.rows() * model.outputs, 7);
    const Status predicted = gpu->Predict(rows, **pool, raw);
    ASSERT_TRUE(predicted.ok()) << predicted.ToString();
    EXPECT_EQ(raw, RawOf(model, rows)) << where << ", " << rows.rows() << " rows";
  }
}

TEST(CatBoostOnGpu, GoldenModelsPredictWhatTheyDoOnTheCpu) {
  if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  for (const char* name : kGoldenCatBoost) {
    const CatBoostModel model = GoldenCatBoost(name);
    const CatBoostRows rows = RowsFor(model, GoldenCatBoostCells());
    ExpectThoseOfTheCpu(model, {rows}, name);
  }
}

TEST(CatBoostOnGpu, RandomModelsPredictWhatTheyDoOnTheCpu) {
  if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  size_t tables = 0;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    RandomCatBoost random(seed);
    const CatBoostModel model = random.Make();
    tables += model.tables.size();
    ExpectThoseOfTheCpu(model,
                        {random.Rows(model, 300), random.Rows(model, 0), random.Rows(model, 700)},
                        fmt::format("seed {}", seed));
  }
  EXPECT_GT(tables, 50U) << "statistics are among them";
}

// More rows than go to the GPU at once.
TEST(CatBoostOnGpu, ManyRowsGoInPieces) {
  if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  RandomCatBoost random(4);
  const CatBoostModel model = random.Make();
  ExpectThoseOfTheCpu(model, {random.Rows(model, 300'000)}, "many rows");
}

TEST(CatBoostOnGpu, TheTaskWritesWhatItWritesOnTheCpu) {
  SimDisk disk;
  for (const std::string name : {"combinations.json", "rows.tsv", "rows.cd"}) {
    ASSERT_TRUE(WriteFileAtomically(disk, name, Golden("catboost/" + name)).ok());
  }
  const auto predict = [&](const std::string& device) -> std::string {
    const std::vector<std::string> words = {"model_file=combinations.json", "input_path=rows.tsv",
                                            "cd=rows.cd", "output_path=out.tsv",
                                            "device=" + device};
    const Result<CalcOptions> options = ParseCalcOptions(words, "predict");
    if (!options.ok()) return options.status().ToString();
    const TreeTaskContext context = {
        .disk = disk, .clock = RealClock(), .progress = {}, .check = [] { return Status(); }};
    const Status status = RunCalcTask(*options, context).status();
    return status.ok() ? *ReadFile(disk, "out.tsv", 1 << 20) : status.ToString();
  };
  const std::string cpu = predict("cpu");
  EXPECT_EQ(predict("auto"), cpu);
  EXPECT_NE(predict("cuda:99").find("99"), std::string::npos);
  if (GpuLeaves::Devices() == 0) {
    EXPECT_NE(predict("cuda").find("GPU"), std::string::npos);
    return;
  }
  EXPECT_EQ(predict("cuda"), cpu);
}

}  // namespace
}  // namespace strata
