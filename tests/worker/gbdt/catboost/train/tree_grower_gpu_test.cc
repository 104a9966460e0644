// Trees that grow on a GPU: those of the CPU, to the bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/file/text_file.h"
#include "kernels/tree/grow/gpu_leaves.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/train/best_split.h"
#include "tests/worker/gbdt/catboost/train/level_rows.h"
#include "tests/worker/gbdt/catboost/train/training_case.h"
#include "worker/gbdt/catboost/train/grow/tree_grower.h"

namespace strata {
namespace {

constexpr DeviceChoice kCpu = {.kind = DeviceKind::kCpu};
constexpr DeviceChoice kGpu = {.kind = DeviceKind::kCuda, .ordinal = 0};

// How a tree is grown: columns that come after some levels, and gradients that change.
struct Course {
  size_t depth = 6;
  size_t late_columns = 0;          // of the last ones, that come after two levels
  const LevelRows* then = nullptr;  // whose gradients are taken after three levels
};

struct Grown {
  std::vector<LevelScores> levels;
  GrownObliviousTree tree;
};

Result<Grown> Grow(TreeGrower& grower, const LevelRows& rows, const Course& course) {
  Grown grown;
  const std::span<const GrowColumn> columns = rows.columns;
  const size_t first = columns.size() - course.late_columns;
  STRATA_TRY(grower.Begin(rows.gradients, rows.weights));
  STRATA_TRY(grower.AddFixedColumns(columns.first(first)));
  while (grower.levels() < course.depth) {
    if (grower.levels() == 2) STRATA_TRY(grower.AddColumns(columns.subspan(first)));
    if (grower.levels() == 3 && course.then != nullptr) {
      STRATA_TRY(grower.SetGradients(course.then->gradients, course.then->weights));
    }
    STRATA_ASSIGN(const LevelScores* const scores, grower.Score());
    grown.levels.push_back(*scores);
    const auto best = BestSplit(*scores);
    if (!best.has_value()) break;
    STRATA_ASSIGN(const bool goes_on, grower.Split(*best));
    if (!goes_on) break;
  }
  STRATA_ASSIGN(grown.tree, grower.Take());
  return grown;
}

// Two trees each, of which the second one uses memory of the first.
void ExpectTheSameTrees(const LevelRows& rows, ScoreRule rule, const Course& course) {
  rule.levels_max = course.depth;
  const auto pool = std::move(*WorkPool::Start("test", 2));
  const Result<std::unique_ptr<TreeGrower>> cpu =
      TreeGrower::Make(kCpu, rows.weights.size(), rule, *pool);
  const Result<std::unique_ptr<TreeGrower>> gpu =
      TreeGrower::Make(kGpu, rows.weights.size(), rule, *pool);
  ASSERT_TRUE(gpu.ok()) << gpu.status().ToString();
  for (int tree = 0; tree < 2; ++tree) {
    const Result<Grown> expected = Grow(**cpu, rows, course);
    const Result<Grown> found = Grow(**gpu, rows, course);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    ASSERT_EQ(found->levels.size(), expected->levels.size());
    for (size_t level = 0; level < found->levels.size(); ++level) {
      for (size_t c = 0; c < found->levels[level].size(); ++c) {
        ASSERT_EQ(found->levels[level][c], expected->levels[level][c])
            << "tree " << tree << ", level " << level << ", column " << c;
      }
    }
    EXPECT_EQ(found->tree.leaves, expected->tree.leaves);
  }
}

class TreesOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  }
};

TEST_F(TreesOnGpu, HaveTheScoresOfTheCpu) {
  for (const Weights weights : {Weights::kSame, Weights::kSameOrNone, Weights::kAny}) {
    for (const size_t outputs : {1, 3}) {
      for (const size_t columns : {3, 40}) {
        SCOPED_TRACE(fmt::format("weights {}, {} outputs, {} columns", static_cast<int>(weights),
                                 outputs, columns));
        const LevelRows rows = MakeLevelRows(columns, 300, columns, outputs, weights);
        ExpectTheSameTrees(rows, {.is_cosine = outputs == 1, .l2 = 1.7}, {.depth = 5});
      }
    }
  }
}

// Several tiles and pieces, the last ones not full.
TEST_F(TreesOnGpu, OfManyRowsAreTheSame) {
  for (const Weights weights : {Weights::kSame, Weights::kAny}) {
    ExpectTheSameTrees(MakeLevelRows(5, 70001, 5, 1, weights), {.l2 = 1}, {.depth = 4});
  }
}

TEST_F(TreesOnGpu, TakeColumnsAndGradientsInBetween) {
  const LevelRows rows = MakeLevelRows(7, 3000, 12, 1, Weights::kSame);
  const LevelRows others = MakeLevelRows(8, 3000, 12, 1, Weights::kAny);
  ExpectTheSameTrees(rows, {.l2 = 1}, {.depth = 6, .late_columns = 5});
  ExpectTheSameTrees(rows, {.l2 = 1}, {.depth = 6, .late_columns = 5, .then = &others});
  // Two lots of columns in several blocks each, which share a list of rows.
  const LevelRows wide = MakeLevelRows(11, 1500, 80, 1, Weights::kSame);
  const LevelRows wide_others = MakeLevelRows(12, 1500, 80, 1, Weights::kAny);
  ExpectTheSameTrees(wide, {.l2 = 1}, {.depth = 6, .late_columns = 40, .then = &wide_others});
}

// More leaves than a block of threads counts, and lists, in shared memory.
TEST_F(TreesOnGpu, MayBeDeep) {
  const LevelRows rows = MakeLevelRows(9, 4000, 2, 1, Weights::kAny);
  const LevelRows others = MakeLevelRows(10, 4000, 2, 1, Weights::kAny);
  ExpectTheSameTrees(rows, {.l2 = 1}, {.depth = 10, .then = &others});
}

struct Trained {
  std::string model;
  std::vector<std::vector<double>> rounds;  // what was measured
};

Trained TrainOn(const std::string& device, const TrainingCase& training,
                std::vector<std::string> more = {}) {
  SimDisk disk;
  WriteTraining(disk, training);
  more.push_back("device=" + device);
  if (!training.test.empty()) more.push_back("test_set=test.tsv");
  Trained trained;
  const Result<TreeTaskResult> result = TrainFromFiles(disk, more, &trained.rounds);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  const Result<std::string> text = ReadFile(disk, "model.json", 1 << 24);
  trained.model = text.ok() ? *text : text.status().ToString();
  return trained;
}

void ExpectTheSameTraining(const TrainingCase& training, const std::vector<std::string>& more) {
  const Trained gpu = TrainOn("cuda", training, more);
  const Trained cpu = TrainOn("cpu", training, more);
  EXPECT_EQ(gpu.model, cpu.model);
  EXPECT_EQ(gpu.rounds, cpu.rounds);
}

class TrainingOnGpu : public testing::TestWithParam<std::string> {};

TEST_P(TrainingOnGpu, MakesTheModelOfTheCpu) {
  if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  ExpectTheSameTraining(GoldenTraining(GetParam()), {});
}

INSTANTIATE_TEST_SUITE_P(All, TrainingOnGpu, testing::ValuesIn(GoldenTrainings()),
                         [](const auto& test) { return test.param; });

TEST_F(TreesOnGpu, MayHaveTheirRowsThere) {
  const std::vector<std::string> samples[] = {
      {"bootstrap_type=No"},
      {"bootstrap_type=Bayesian", "bagging_temperature=0.7"},
      {"bootstrap_type=Bernoulli", "subsample=0.6"},
      {"bootstrap_type=Poisson", "subsample=0.6", "sampling_frequency=PerTreeLevel"},
      {"bootstrap_type=MVS", "subsample=0.5"},
      {"bootstrap_type=MVS", "subsample=0.7", "mvs_reg=0"},
      {"bootstrap_type=Poisson", "subsample=1", "sampling_frequency=PerTreeLevel"}};
  size_t sample = 0;
  for (const char* name : {"average", "huber", "cross_entropy", "poisson", "tweedie"}) {
    TrainingCase training = GoldenTraining(name);
    training.json["params"].erase("bootstrap_type");
    for (const char* method : {"Newton", "Gradient"}) {
      for (const char* noise : {"0", "1"}) {
        std::vector<std::string> more = samples[sample++ % std::size(samples)];
        SCOPED_TRACE(fmt::format("{}, {}, noise {}, {}", name, method, noise, more[0]));
        more.push_back(fmt::format("leaf_estimation_method={}", method));
        more.push_back("leaf_estimation_iterations=4");
        more.push_back(fmt::format("random_strength={}", noise));
        ExpectTheSameTraining(training, more);
      }
    }
  }
}

}  // namespace
}  // namespace strata
