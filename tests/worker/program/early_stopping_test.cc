// Evaluations within epochs and early stopping of whole jobs. The oracle is a run without them that
// is ended after so many steps, and whose model is evaluated.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/program/living_job.h"
#include "worker/ctr/model_file.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr uint64_t kEvery = 8;  // steps between two evaluations
// Few rows of many texts, learned fast: the network soon knows them by heart.
constexpr size_t kRowsByHeart = 1050;
constexpr uint64_t kStepsAnEpoch = 11;

const std::vector<std::string> kByHeart = {"data.test=", "train.epochs=8", "job.seed=3",
                                           "sparse.learning_rate=0.05", "dense.learning_rate=0.05"};

// A fifth of the labels is wrong.
std::string WithNoise(std::string csv) {
  Random random(4);
  for (size_t at = 0; (at = csv.find('\n', at)) != std::string::npos; ++at) {
    if (random.Below(5) == 0) csv[at - 1] = csv[at - 1] == '0' ? '1' : '0';
  }
  return csv;
}

class EarlyStoppingTest : public testing::Test {
 protected:
  static void Fill(LivingJob& job) {
    job.RewriteData(WithNoise(XorCsv(kRowsByHeart, 40, 7)));
    job.WriteTest(WithNoise(XorCsv(400, 40, 8)));
  }
  static std::vector<std::string> With(const LivingJob& job, std::vector<std::string> more) {
    std::vector<std::string> all = kByHeart;
    all[0] += job.File("test.csv");
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::vector<std::string> Stopping(const LivingJob& job, uint64_t patience,
                                           const std::string& by = "auc") {
    return With(job, {fmt::format("train.eval_every_steps={}", kEvery),
                      fmt::format("train.early_stopping={}", patience), "train.best_by=" + by,
                      "checkpoint.every_steps=5"});
  }

  // What a model of so many steps is worth.
  static Metrics MetricsAfter(size_t world, uint64_t steps) {
    LivingJob job;
    Fill(job);
    const Life ended = job.Live(world, With(job, {}), {.unread_after = steps - 1});
    EXPECT_EQ(ended.status.code(), StatusCode::kCancelled) << ended.status.ToString();
    const Life evaluated = job.Live(world, With(job, {}), {.task = Task::kEvaluate});
    EXPECT_TRUE(evaluated.status.ok()) << evaluated.status.ToString();
    return evaluated.result.metrics.value();
  }

  struct Expected {
    std::map<uint64_t, Metrics> metrics;  // by steps
    uint64_t best = 0;
    uint64_t steps = 0;  // of the whole run
  };
  // Goes over the steps as the settings say.
  static Expected Expect(const std::map<uint64_t, Metrics>& metrics, uint64_t patience,
                         double (*score)(const Metrics&)) {
    Expected expected{.metrics = metrics};
    uint64_t since = 0;
    for (const auto& [steps, found] : metrics) {
      expected.steps = steps;
      if (expected.best == 0 || score(found) > score(metrics.at(expected.best))) {
        expected.best = steps;
        since = 0;
      } else if (++since == patience) {
        break;
      }
    }
    return expected;
  }

  static std::map<uint64_t, Metrics> AllMetrics(size_t world) {
    std::map<uint64_t, Metrics> metrics;
    for (uint64_t steps = kEvery; steps <= 8 * kStepsAnEpoch; steps += kEvery) {
      metrics[steps] = MetricsAfter(world, steps);
    }
    return metrics;
  }

  static void ExpectSame(const Metrics& found, const Metrics& expected) {
    EXPECT_EQ(found.auc, expected.auc);
    EXPECT_EQ(found.logloss, expected.logloss);
    EXPECT_EQ(found.calibration, expected.calibration);
    EXPECT_EQ(found.samples, expected.samples);
  }

  static void ExpectRun(LivingJob& job, const Life& life, const Expected& expected) {
    ASSERT_TRUE(life.status.ok()) << life.status.ToString();
    ASSERT_TRUE(life.result.early_stopping.has_value());
    EXPECT_EQ(life.result.early_stopping->best_steps, expected.best);
    EXPECT_EQ(life.result.early_stopping->ended, expected.steps < 8 * kStepsAnEpoch);
    EXPECT_EQ(life.result.steps, expected.steps);
    ExpectSame(*life.result.metrics, expected.metrics.at(expected.best));
    // The model that is kept is the one that the metrics are of.
    const Life evaluated = job.Live(1, With(job, {}), {.task = Task::kEvaluate});
    ASSERT_TRUE(evaluated.status.ok()) << evaluated.status.ToString();
    ExpectSame(*evaluated.result.metrics, expected.metrics.at(expected.best));
  }
};

TEST_F(EarlyStoppingTest, EndsWhereTheOracleDoesAndKeepsTheBestModel) {
  for (const size_t world : {1U, 3U}) {
    SCOPED_TRACE(fmt::format("{} workers", world));
    const std::map<uint64_t, Metrics> metrics = AllMetrics(world);
    const auto by_auc = [](const Metrics& m) { return m.auc; };
    const auto by_logloss = [](const Metrics& m) { return -m.logloss; };
    for (const uint64_t patience : {1U, 3U, 100U}) {
      LivingJob job;
      Fill(job);
      ExpectRun(job, job.Live(world, Stopping(job, patience)), Expect(metrics, patience, by_auc));
    }
    LivingJob job;
    Fill(job);
    const Expected expected = Expect(metrics, 2, by_logloss);
    // Else this test would show little.
    EXPECT_GT(expected.best, kEvery);
    EXPECT_LT(expected.steps, 8 * kStepsAnEpoch);
    ExpectRun(job, job.Live(world, Stopping(job, 2, "logloss")), expected);
  }
}

// Files of a model are numbered by how often it was saved.
std::string ModelOf(const LivingJob& job) {
  const auto loaded = LoadModel(RealDisk(), job.File("model"));
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  std::string text = fmt::format("{} samples,", loaded->model.samples);
  for (const float value : loaded->model.dense) text += fmt::format(" {:a}", value);
  for (const Key key : loaded->tables[0].keys) text += fmt::format(" {}", key);
  for (const float value : loaded->tables[0].values) text += fmt::format(" {:a}", value);
  return text;
}

TEST_F(EarlyStoppingTest, AResumedRunEqualsTheUnbrokenOne) {
  for (const size_t world : {1U, 2U}) {
    LivingJob unbroken;
    Fill(unbroken);
    const Life whole = unbroken.Live(world, Stopping(unbroken, 3, "logloss"));
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    for (const uint64_t steps : {9U, 26U}) {
      SCOPED_TRACE(fmt::format("{} workers, dead every {} steps", world, steps));
      LivingJob job;
      Fill(job);
      Life life;
      int lives = 0;
      // The second life is asked to end: its checkpoint lies behind steps not evaluated yet.
      do {
        const LifeOptions options =
            lives == 1 ? LifeOptions{.asked_after = steps} : LifeOptions{.steps_max = 5 + steps};
        life = job.Live(world, Stopping(job, 3, "logloss"), options);
      } while (!life.status.ok() && ++lives < 40);
      ASSERT_TRUE(life.status.ok()) << life.status.ToString();
      EXPECT_GE(lives, 1);
      EXPECT_EQ(life.result.steps, whole.result.steps);
      EXPECT_EQ(life.result.early_stopping->ended, whole.result.early_stopping->ended);
      EXPECT_EQ(life.result.early_stopping->best_steps, whole.result.early_stopping->best_steps);
      EXPECT_EQ(life.result.early_stopping->since_best, whole.result.early_stopping->since_best);
      ExpectSame(*life.result.metrics, *whole.result.metrics);
      EXPECT_EQ(ModelOf(job), ModelOf(unbroken));
    }
  }
}

// Wherever the signal comes, in a step or in an evaluation.
TEST_F(EarlyStoppingTest, ASignalLosesNoStepAndNoEvaluation) {
  for (const size_t world : {1U, 2U}) {
    LivingJob unbroken;
    Fill(unbroken);
    const Life whole = unbroken.Live(world, Stopping(unbroken, 1));
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    for (uint64_t asked_after = 7; asked_after <= 11; ++asked_after) {
      SCOPED_TRACE(fmt::format("{} workers, asked after {} looks", world, asked_after));
      LivingJob job;
      Fill(job);
      const Life asked = job.Live(world, Stopping(job, 1), {.asked_after = asked_after});
      EXPECT_EQ(asked.status.code(), StatusCode::kCancelled);
      EXPECT_THAT(asked.status.message(), HasSubstr("holds all of it; to go on, start the same"));
      const Life resumed = job.Live(world, Stopping(job, 1));
      ASSERT_TRUE(resumed.status.ok()) << resumed.status.ToString();
      EXPECT_TRUE(resumed.result.resumed_from.has_value());
      EXPECT_EQ(resumed.result.steps, whole.result.steps);
      EXPECT_EQ(resumed.result.early_stopping->best_steps, whole.result.early_stopping->best_steps);
      EXPECT_EQ(ModelOf(job), ModelOf(unbroken));
    }
  }
}

// Whether or not it is evaluated, a run goes the same way.
TEST_F(EarlyStoppingTest, EvaluationsChangeNoBit) {
  for (const size_t world : {1U, 3U}) {
    LivingJob plain;
    Fill(plain);
    ASSERT_TRUE(plain.Live(world, With(plain, {})).status.ok());
    LivingJob evaluated;
    Fill(evaluated);
    const Life life = evaluated.Live(world, With(evaluated, {"train.eval_every_steps=1"}));
    ASSERT_TRUE(life.status.ok()) << life.status.ToString();
    EXPECT_FALSE(life.result.early_stopping.has_value());
    EXPECT_GT(life.result.evaluation_seconds, 0);
    EXPECT_EQ(evaluated.ModelBytes(), plain.ModelBytes());
  }
}

TEST_F(EarlyStoppingTest, AModelThatIsGoneIsNotTheBestAnyMore) {
  LivingJob job;
  Fill(job);
  const Life dead = job.Live(1, Stopping(job, 100), {.steps_max = 30});
  ASSERT_EQ(dead.status.code(), StatusCode::kCancelled) << dead.status.ToString();
  ASSERT_TRUE(RealDisk().Remove(job.File("model/manifest")).ok());
  const Life life = job.Live(1, Stopping(job, 100));
  ASSERT_TRUE(life.status.ok()) << life.status.ToString();
  EXPECT_TRUE(life.result.resumed_from.has_value());
  EXPECT_GT(life.result.early_stopping->best_steps, 24U);
  const Life evaluated = job.Live(1, With(job, {}), {.task = Task::kEvaluate});
  ASSERT_TRUE(evaluated.status.ok()) << evaluated.status.ToString();
  ExpectSame(*evaluated.result.metrics, *life.result.metrics);
}

// It is found before the first step.
TEST_F(EarlyStoppingTest, AMetricThatDataTestDoesNotDefineIsAnErrorThatNamesTheSetting) {
  const std::string rows = "l1,r2,1\nl3,r2,1\n";
  for (const size_t world : {1U, 3U}) {
    SCOPED_TRACE(fmt::format("{} workers", world));
    LivingJob job;
    Fill(job);
    job.WriteTest(rows);
    const Life life = job.Live(world, Stopping(job, 1));
    EXPECT_EQ(life.status.code(), StatusCode::kInvalid);
    EXPECT_THAT(
        life.status.message(),
        HasSubstr("command line: train.best_by: \"auc\" cannot be computed of data.test ("));
    EXPECT_THAT(life.status.message(),
                HasSubstr("all rows have the label 1: name a file with rows of both, or use "
                          "train.best_by = \"logloss\""));
    EXPECT_FALSE(RealDisk().List(job.File("checkpoints/0000000001")).ok())
        << "which is taken before the first step";
    EXPECT_TRUE(job.Live(world, Stopping(job, 1, "logloss")).status.ok());
    // Rows of both labels may be in the shares of two workers.
    job.WriteTest(rows + "l1,r1,0\nl1,r1,0\n");
    EXPECT_TRUE(job.Live(world, Stopping(job, 1)).status.ok());
    // A group has both, or the metric of groups is not defined.
    std::vector<std::string> by_group = Stopping(job, 1, "gauc");
    by_group.push_back("data.group=left");
    EXPECT_TRUE(job.Live(world, by_group).status.ok());
    job.WriteTest(rows + "l2,r1,0\n");
    EXPECT_THAT(job.Live(world, by_group).status.message(),
                HasSubstr("where no group has rows of both labels: name another data.group"));
  }
}

}  // namespace
}  // namespace strata
