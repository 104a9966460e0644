// Trainings over ranks with GPUs: the model of one rank's CPU, to the last letter, whoever has a
// GPU.
#include <gmock/gmock.h>

#include <atomic>

#include "kernels/tree/grow/gpu_leaves.h"
#include "tests/worker/gbdt/ranks_training.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

const RanksCase kCases[] = {
    {"binary", "class",
     "objective = binary\nmetric = auc\nbagging_freq = 1\nbagging_fraction = 0.7\n"
     "feature_fraction = 0.7\ngradient_bits = 16",
     false, 3},
    {"absolute", "number", "objective = regression_l1\ngradient_bits = 32", false, 3},
    {"classes", "three",
     "objective = multiclass\nnum_class = 3\nextra_trees = true\nfeature_fraction_bynode = 0.7",
     false, 2},
    {"rank", "three", "objective = lambdarank\nmetric = ndcg\nuse_quantized_grad = true", true, 2},
};

class RanksTrainingGpu : public RanksTraining {
 protected:
  void SetUp() override {
    if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  }
};

TEST_F(RanksTrainingGpu, TheModelIsThatOfTheCpuWhoeverHasAGpu) {
  for (const RanksCase& c : kCases) {
    SCOPED_TRACE(c.name);
    WriteData(c);
    const Trained alone = Train(1, Conf(c, ""));
    ASSERT_TRUE(alone.status.ok()) << alone.status.ToString();
    EXPECT_THAT(alone.model, HasSubstr("Tree=1\n"));
    for (const bool mixed : {false, true}) {
      SCOPED_TRACE(mixed ? "one of three ranks on its CPU" : "two ranks");
      std::atomic<int> ranks = 0;
      const Trained together =
          Train(mixed ? 3 : 2, Conf(c, "tree_learner = data"), [&](TreeParameters* p) {
            p->machine.device_type = mixed && ranks.fetch_add(1) == 1 ? "cpu" : "cuda";
          });
      ASSERT_TRUE(together.status.ok()) << together.status.ToString();
      EXPECT_EQ(together.model, alone.model);
      ExpectSame(together.evaluations, alone.evaluations);
    }
  }
}

TEST_F(RanksTrainingGpu, WhatRanksWithGpusCannotDoIsNamed) {
  const RanksCase c = {"refused", "number", "objective = regression", false, 1};
  WriteData(c);
  const auto message = [&](const std::string& more) {
    return Train(2, Conf(c, "device_type = cuda\n" + more)).status.ToString();
  };
  EXPECT_THAT(message("tree_learner = feature"),
              HasSubstr("device = cuda with 2 ranks and tree_learner = feature: ranks with GPUs "
                        "divide the rows; set tree_learner = data, or device = cpu"));
  EXPECT_THAT(message("tree_learner = data\nnum_gpu = 2"),
              HasSubstr("num_gpu = 2 with 2 ranks: a rank has one GPU"));
}

}  // namespace
}  // namespace strata
