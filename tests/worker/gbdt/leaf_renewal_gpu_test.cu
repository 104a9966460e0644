// Leaves that the CPU renews because the GPU that has grown them has no memory for that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/device_memory.cuh"
#include "tests/worker/gbdt/tree_data.h"
#include "worker/gbdt/boost/booster.h"
#include "worker/gbdt/model/lightgbm_text.h"

namespace strata {
namespace {

constexpr size_t kRows = 200;

Result<std::string> Train(const TreeDataset& data, TreeParameters p, WorkPool& pool,
                          const std::string& device, int64_t gpus) {
  p.machine.device_type = device;
  p.machine.num_gpu = gpus;
  STRATA_ASSIGN(const std::unique_ptr<Booster> booster,
                Booster::Make(p, data, {}, pool, 1, nullptr, nullptr));
  for (int round = 0; round < 2; ++round) STRATA_TRY(booster->Round().status());
  return WriteLightGbmText(booster->model());
}

// What training on the GPUs does where the memory that is asked for after so many times is not
// there.
struct Outcome {
  Result<std::string> model;
  bool cpu_renews;
};

Outcome TrainShortOfMemory(FailCalls fail, unsigned after, const TreeDataset& data,
                           const TreeParameters& p, WorkPool& pool, int64_t gpus) {
  fail("cudaMalloc", after, 1);
  testing::internal::CaptureStderr();
  Result<std::string> model = Train(data, p, pool, "cuda", gpus);
  const std::string log = testing::internal::GetCapturedStderr();
  fail("cudaMalloc", 0, 0);
  const bool cpu_renews =
      log.find(
          "gradients and outputs of leaves are computed on the CPU: renewing leaves on the "
          "GPU") != std::string::npos;
  return {std::move(model), cpu_renews};
}

TEST(LeafRenewal, TheCpuMakesTheSameModelWhereTheGpuHasNoMemoryForIt) {
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "needs a GPU that is emulated";
  const Result<std::unique_ptr<WorkPool>> pool = WorkPool::Start("test", 0);
  ASSERT_TRUE(pool.ok());
  const auto label = [](const std::vector<double>& x) { return 9 + x[0] * (4 - x[1]) + x[2]; };
  TreeData rows = MakeTreeData(7, kRows, 3, label, **pool);
  for (const std::string conf :
       {"objective = regression_l1\n",
        "objective = mape\nbagging_fraction = 0.6\nbagging_freq = 1\n",
        "objective = quantile\nboosting = rf\nbagging_fraction = 0.6\nbagging_freq = 1\n"}) {
    const TreeParameters p = ParametersOf("num_leaves = 5\n" + conf);
    const bool weighted = p.objective.name == "quantile";
    rows.data->weights.clear();
    for (size_t row = 0; weighted && row < kRows; ++row) {
      rows.data->weights.push_back(static_cast<float>(row % 5 + 1));
    }
    const Result<std::string> cpu = Train(*rows.data, p, **pool, "cpu", 1);
    ASSERT_TRUE(cpu.ok()) << cpu.status().ToString();
    for (const int gpus : {1, 2}) {
      if (gpus > GpusTogether()) continue;
      unsigned after = 0;
      const auto train = [&] {
        return TrainShortOfMemory(fail, after, *rows.data, p, **pool, gpus);
      };
      const auto where = [&] { return fmt::format("{}{} GPUs, after {}", conf, gpus, after); };
      Outcome outcome = train();
      for (; !outcome.cpu_renews; outcome = train()) {  // no tree could be grown without that
        ASSERT_EQ(outcome.model.status().code(), StatusCode::kRefused) << where();
        ++after;
      }
      const unsigned first = after;
      for (; outcome.cpu_renews; outcome = train()) {
        ASSERT_TRUE(outcome.model.ok()) << where() << outcome.model.status().ToString();
        EXPECT_EQ(*outcome.model, *cpu) << where();
        ++after;
      }
      // Labels, leaves, sums, two of keys, rows and keys of leaves, and what sorting works in.
      EXPECT_GE(after - first, weighted ? 12U : 11U) << where();
    }
  }
}

}  // namespace
}  // namespace strata
