// Metrics that are no losses, held against sums over all pairs of rows.
#include "worker/gbdt/catboost/train/fit_metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace strata {
namespace {

FitRows RowsOf(std::vector<float> labels) {
  FitRows rows;
  rows.labels = std::move(labels);
  rows.weights.assign(rows.labels.size(), 1);
  rows.weight_sum = std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
  return rows;
}

double Auc(const FitRows& rows, const std::vector<double>& raw) {
  const std::unique_ptr<WorkPool> pool = std::move(*WorkPool::Start("test", 1));
  return MeasureMetric({.kind = MetricKind::kAuc, .loss = {}}, rows, raw, *pool);
}

TEST(FitMetric, AucIsTheShareOfPairsInOrder) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50; ++i) {
    std::vector<float> labels = {0, 1};
    std::vector<double> raw = {0, 0};
    for (size_t n = random() % 20; n > 0; --n) {
      labels.push_back(static_cast<float>(random() % 5) / 4);
      raw.push_back(static_cast<double>(random() % 6));
    }
    double right = 0;
    double all = 0;
    for (size_t a = 0; a < raw.size(); ++a) {
      for (size_t b = 0; b < raw.size(); ++b) {
        const double weight = double{labels[a]} * (1 - double{labels[b]});
        right += weight * (raw[a] > raw[b] ? 1 : raw[a] == raw[b] ? 0.5 : 0);
        all += weight;
      }
    }
    EXPECT_NEAR(Auc(RowsOf(labels), raw), right / all, 1e-12) << i;
  }
}

TEST(FitMetric, AucOfOneClassIsZero) { EXPECT_EQ(Auc(RowsOf({1, 1}), {1, 2}), 0); }

TEST(FitMetric, AucOfNoNumbersIsNone) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Auc(RowsOf({0, 1, 1}), {1, none, 2})));
}

}  // namespace
}  // namespace strata
