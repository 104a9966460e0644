// A part of the soak, on the CPU or, in a build with CUDA, on the GPU.
#include "tests/soak/trees/trees_soak.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/tree/grow/gpu_leaves.h"

namespace strata::soak {
namespace {

TEST(TreesSoak, TrainingEvaluateAndPredictionsSayTheSameMetrics) {
  if (STRATA_SOAK_DEVICE == std::string("cuda") && GpuLeaves::Devices() == 0) {
    GTEST_SKIP() << "needs a GPU";
  }
  const SoakReport report =
      RunTreesSoak({.cases = STRATA_SOAK_CASES, .seed = 1, .device = STRATA_SOAK_DEVICE});
  EXPECT_EQ(report.cycles, static_cast<uint64_t>(STRATA_SOAK_CASES));
  EXPECT_EQ(report.findings.wrong, 0U);
  EXPECT_GT(report.operations, report.cycles * 100);
}

}  // namespace
}  // namespace strata::soak
