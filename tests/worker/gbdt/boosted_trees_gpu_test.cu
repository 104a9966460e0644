// Trees that are trained from rows in memory are the same on a GPU and on the CPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/boosted_trees.h"
#include "tests/support/device_memory.cuh"
#include "tests/worker/gbdt/labelled_rows.h"

namespace strata {
namespace {

TEST(BoostedTreesOnGpu, AreThoseOfTheCpu) {
  STRATA_SKIP_BELOW_GPUS(1);
  constexpr size_t kRows = 3000;
  constexpr size_t kFeatures = 6;
  const std::vector<float> values = RandomFloats(kRows * kFeatures, -1, 1, 4);
  std::vector<float> labels;
  for (size_t row = 0; row < kRows; ++row) {
    const float* const x = &values[row * kFeatures];
    labels.push_back(x[0] * x[1] + x[2] > 0.1F ? 1.0F : 0.0F);
  }
  const TreeRows rows = {
      .values = std::span<const float>(values), .features = kFeatures, .labels = labels};
  const auto predicted = [&](const std::string& device) {
    const Result<BoostedTrees> trees =
        BoostedTrees::Train(rows, {.parameters = {{"objective", "binary"},
                                                  {"num_leaves", "15"},
                                                  {"num_iterations", "5"},
                                                  {"device_type", device}}});
    EXPECT_TRUE(trees.ok()) << trees.status().ToString();
    if (!trees.ok()) return std::vector<double>();
    EXPECT_EQ(trees->rounds(), 5U);
    const Result<std::vector<double>> scores = trees->Predict(rows, TreeOutput::kRawScore);
    EXPECT_TRUE(scores.ok()) << scores.status().ToString();
    return *scores;
  };
  const std::vector<double> on_cpu = predicted("cpu");
  EXPECT_EQ(predicted("cuda"), on_cpu);
  EXPECT_NE(on_cpu.front(), on_cpu.back());
}

}  // namespace
}  // namespace strata
