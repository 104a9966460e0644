// Metrics of scores on a GPU: the CPU's numbers to the bit.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "kernels/tree/grow/gpu_leaves.h"
#include "kernels/tree/score/gpu_scores.h"
#include "tests/worker/gbdt/labelled_rows.h"
#include "worker/gbdt/metric/metric.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {
namespace {

constexpr size_t kRows = 9'001;  // more than four tiles of sorted rows

struct Case {
  std::string objective;
  std::vector<std::string> metrics;
  int64_t classes = 1;
};

TreeDataset Rows(int64_t classes, bool weighted) {
  Random random(3);
  TreeDataset data = LabelledRows({});
  for (size_t row = 0; row < kRows; ++row) {
    data.labels.push_back(static_cast<float>(random.Below(classes > 1 ? classes : 2)));
    if (weighted) data.weights.push_back(static_cast<float>(random.Below(1000)) / 300);
  }
  for (size_t begin = 0; begin <= kRows; begin += begin % 700 + 1) {
    data.query_begins.push_back(std::min(begin, kRows));
  }
  data.query_begins.push_back(kRows);
  return data;
}

// `grain`: how many different scores there are; 1: all are one threshold.
void Check(const Case& of, bool weighted, uint64_t grain) {
  const TreeDataset data = Rows(of.classes, weighted);
  TreeParameters p;
  p.objective.name = of.objective;
  p.metric.names = of.metrics;
  p.objective.num_class = of.classes;
  p.metric.eval_at = {1, 5, 2000};
  Random random(grain);
  std::vector<double> scores;
  for (size_t i = 0; i < kRows * static_cast<size_t>(of.classes); ++i) {
    const double score = static_cast<double>(random.Below(grain)) / static_cast<double>(grain);
    scores.push_back(random.Chance(0.5) ? 4 * score - 2 * score : -2 * score);  // and both zeros
  }
  const auto pool = PoolOf(2);
  const BinMatrix bins(kRows, std::vector<uint32_t>{2});
  const std::vector<FeatureShape> shapes(1, FeatureShape{2});
  auto on_gpu = GpuScores::Open(0, bins, shapes, static_cast<size_t>(of.classes));
  ASSERT_TRUE(on_gpu.ok()) << on_gpu.status().ToString();
  ASSERT_TRUE((*on_gpu)->Set(scores).ok());
  auto gpu = GpuMetrics::Open(
      0, {.labels = data.labels, .weights = data.weights, .query_begins = data.query_begins});
  ASSERT_TRUE(gpu.ok()) << gpu.status().ToString();
  const auto metrics = MakeMetrics(p.metric, p.objective, data, *pool);
  ASSERT_TRUE(metrics.ok()) << metrics.status().ToString();
  for (const auto& metric : *metrics) {
    ASSERT_TRUE(metric->MoveToGpu(gpu->get()).ok());
    const std::vector<MetricValue> expected = metric->Evaluate(scores);
    for (int again = 0; again < 2; ++again) {
      const auto found = metric->EvaluateOnGpu(**gpu, (*on_gpu)->data());
      ASSERT_TRUE(found.ok()) << found.status().ToString();
      ASSERT_EQ(found->size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ((*found)[i].name, expected[i].name);
        EXPECT_EQ((*found)[i].value, expected[i].value)
            << expected[i].name << ", " << grain << " scores, weighted: " << weighted;
        EXPECT_TRUE(std::isfinite(expected[i].value)) << expected[i].name;
      }
    }
  }
}

TEST(TreeMetricOnGpu, IsThatOfTheCpu) {
  if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  for (const bool weighted : {false, true}) {
    for (const uint64_t grain : {1, 3, 1'000'000}) {
      Check({"binary",
             {"auc", "average_precision", "binary_logloss", "binary_error", "l2", "r2", "ndcg",
              "map"}},
            weighted, grain);
      Check({"multiclass", {"multi_logloss", "multi_error", "auc_mu", "accuracy"}, 4}, weighted,
            grain);
    }
  }
}

}  // namespace
}  // namespace strata
