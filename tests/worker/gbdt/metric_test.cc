#include "worker/gbdt/metric/metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "base/random.h"
#include "tests/worker/gbdt/labelled_rows.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {
namespace {

TreeParameters Parameters(const std::string& objective, const std::vector<std::string>& metrics,
                          int64_t classes = 1) {
  TreeParameters p;
  p.objective.name = objective;
  p.metric.names = metrics;
  p.objective.num_class = classes;
  return p;
}

std::vector<MetricValue> Measure(const TreeParameters& p, const TreeDataset& data,
                                 const std::vector<double>& scores, int threads = 0) {
  const auto pool = WorkPool::Start("test", threads);
  STRATA_CHECK(pool.ok());
  const auto metrics = MakeMetrics(p.metric, p.objective, data, **pool);
  EXPECT_TRUE(metrics.ok()) << metrics.status().ToString();
  std::vector<MetricValue> values;
  if (!metrics.ok()) return values;
  for (const auto& metric : *metrics) {
    for (MetricValue& value : metric->Evaluate(scores)) values.push_back(std::move(value));
  }
  return values;
}

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

TEST(TreeMetric, MeansOverRowsAreThoseOfPlainFormulas) {
  struct Case {
    std::string objective;
    std::string metric;
    std::function<double(double s, double y)> loss;
  };
  const Case cases[] = {
      {"regression", "l2", [](double s, double y) { return (s - y) * (s - y); }},
      {"regression", "mae", [](double s, double y) { return std::fabs(s - y); }},
      {"quantile", "quantile",
       [](double s, double y) { return y < s ? 0.1 * (s - y) : 0.9 * (y - s); }},
      {"huber", "huber",
       [](double s, double y) {
         const double off = std::fabs(s - y);
         return off <= 0.9 ? off * off / 2 : 0.9 * off - 0.405;
       }},
      {"fair", "fair",
       [](double s, double y) { return std::fabs(s - y) - std::log(1 + std::fabs(s - y)); }},
      {"mape", "mape", [](double s, double y) { return std::fabs(s - y) / std::max(1.0, y); }},
      {"poisson", "poisson", [](double s, double y) { return std::exp(s) - y * s; }},
      {"gamma", "gamma", [](double s, double y) { return y / std::exp(s) + s; }},
      {"tweedie", "tweedie",
       [](double s, double y) { return 2 * y * std::exp(-0.5 * s) + 2 * std::exp(0.5 * s); }}};
  constexpr size_t kRows = 100;
  const std::vector<float> labels = RandomFloats(kRows, 0.1, 4, 1);
  const std::vector<float> weights = RandomFloats(kRows, 0.1, 2, 2);
  const std::vector<double> scores = RandomNumbers(kRows, -1, 2, 3);
  for (const bool weighted : {false, true}) {
    const TreeDataset data = LabelledRows(labels, weighted ? weights : std::vector<float>());
    for (const Case& c : cases) {
      double sum = 0;
      double all = 0;
      for (size_t row = 0; row < kRows; ++row) {
        const double w = weighted ? weights[row] : 1;
        sum += w * c.loss(scores[row], labels[row]);
        all += w;
      }
      const auto values = Measure(Parameters(c.objective, {c.metric}), data, scores);
      ASSERT_EQ(values.size(), 1U);
      EXPECT_NEAR(values[0].value, sum / all, 1e-9) << c.metric;
      EXPECT_FALSE(values[0].higher_is_better);
    }
  }
}

TEST(TreeMetric, TheRootAndTheSumOfRows) {
  const TreeDataset data = LabelledRows({1, 2, 4}, {1, 1, 2});
  const std::vector<double> scores = {0, 0.5, 1};
  EXPECT_NEAR(Measure(Parameters("regression", {"rmse"}), data, scores)[0].value,
              std::sqrt((1 + 2.25 + 2 * 9) / 4), 1e-12);
  double deviance = 0;  // twice the sum, not the mean: so has LightGBM
  for (size_t row = 0; row < 3; ++row) {
    const double quotient = static_cast<double>(data.labels[row]) / std::exp(scores[row]);
    deviance += 2.0 * data.weights[row] * (quotient - std::log(quotient) - 1);
  }
  EXPECT_NEAR(Measure(Parameters("gamma", {"gamma_deviance"}), data, scores)[0].value, deviance,
              1e-6);
}

TEST(TreeMetric, LossesOfProbabilities) {
  const TreeDataset classes = LabelledRows({0, 1, 1, 0}, {1, 2, 1, 1});
  const std::vector<double> scores = {-1, 2, -0.5, 0.3};
  const double sum = std::log(1 + std::exp(-1.0)) + 2 * std::log(1 + std::exp(-2.0)) +
                     std::log(1 + std::exp(0.5)) + std::log(1 + std::exp(0.3));
  auto values =
      Measure(Parameters("binary", {"binary", "binary_error", "accuracy"}), classes, scores);
  EXPECT_NEAR(values[0].value, sum / 5, 1e-12);
  EXPECT_NEAR(values[1].value, 2.0 / 5, 1e-12);
  EXPECT_NEAR(values[2].value, 3.0 / 5, 1e-12);
  EXPECT_TRUE(values[2].higher_is_better);
  const TreeDataset shares = LabelledRows({0.3F, 1, 0, 0.5F});
  double entropy = 0;
  double own = 0;
  for (size_t row = 0; row < 4; ++row) {
    const double y = shares.labels[row];
    const double p = SigmoidOf(scores[row]);
    entropy -= (y * std::log(p) + (1 - y) * std::log(1 - p)) / 4;
    if (y > 0) own -= y * std::log(y) / 4;
    if (y < 1) own -= (1 - y) * std::log(1 - y) / 4;
  }
  values = Measure(Parameters("cross_entropy", {"xentropy", "kldiv"}), shares, scores);
  EXPECT_NEAR(values[0].value, entropy, 1e-12);
  EXPECT_NEAR(values[1].value, entropy - own, 1e-12);
}

// A row of weight w is 1 with the probability 1 - (1 + e^s)^-w, and counts once.
TEST(TreeMetric, CrossEntropyOfIntensities) {
  const TreeDataset data = LabelledRows({0.3F, 1, 0, 0.5F}, {1, 2, 0.5F, 3});
  const std::vector<double> scores = {-1, 2, -0.5, 0.3};
  double loss = 0;
  for (size_t row = 0; row < 4; ++row) {
    const double y = data.labels[row];
    const double q = std::pow(1 + std::exp(scores[row]), -data.weights[row]);
    loss -= (y * std::log(1 - q) + (1 - y) * std::log(q)) / 4;
  }
  const auto values = Measure(Parameters("cross_entropy_lambda", {}), data, scores);
  EXPECT_EQ(values[0].name, "cross_entropy_lambda");
  EXPECT_NEAR(values[0].value, loss, 1e-12);
}

// Few different scores: many ties.
TEST(TreeMetric, AucIsTheShareOfPairsInTheRightOrder) {
  for (uint32_t seed = 1; seed < 20; ++seed) {
    constexpr size_t kRows = 60;
    std::vector<float> labels = RandomFloats(kRows, 0, 1, seed);
    for (float& label : labels) label = std::round(label);
    const std::vector<float> weights =
        seed % 2 == 0 ? std::vector<float>() : RandomFloats(kRows, 0.1, 3, seed + 50);
    std::vector<double> scores = RandomNumbers(kRows, 0, 6, seed + 100);
    for (double& score : scores) score = std::floor(score);
    double right = 0;
    double all = 0;
    const auto weight = [&](size_t row) { return weights.empty() ? 1.0 : weights[row]; };
    for (size_t a = 0; a < kRows; ++a) {
      for (size_t b = 0; b < kRows; ++b) {
        if (labels[a] <= labels[b]) continue;
        const double pair = weight(a) * weight(b);
        all += pair;
        right += pair * (scores[a] > scores[b] ? 1 : scores[a] == scores[b] ? 0.5 : 0);
      }
    }
    const auto values =
        Measure(Parameters("binary", {"auc"}), LabelledRows(labels, weights), scores);
    EXPECT_NEAR(values[0].value, right / all, 1e-12) << "seed " << seed;
    EXPECT_TRUE(values[0].higher_is_better);
  }
  EXPECT_EQ(Measure(Parameters("binary", {"auc"}), LabelledRows({1, 1}), {0, 1})[0].value, 1);
}

// Precision at each threshold, by how much recall grows there.
TEST(TreeMetric, AveragePrecisionIsTheAreaOverThresholds) {
  const std::vector<float> labels = {1, 0, 1, 1, 0, 0, 1};
  const std::vector<double> scores = {3, 3, 2, 1, 1, 0.5, 0.5};
  const double expected =
      (1 * 1.0 / 2 + 1 * 2.0 / 3 + 1 * 3.0 / 5 + 1 * 4.0 / 7) / 4;  // of thresholds 3, 2, 1, 0.5
  EXPECT_NEAR(
      Measure(Parameters("binary", {"average_precision"}), LabelledRows(labels), scores)[0].value,
      expected, 1e-12);
}

TEST(TreeMetric, MetricsOfClasses) {
  constexpr size_t kRows = 40;
  constexpr size_t kClasses = 3;
  std::vector<float> labels(kRows);
  for (size_t row = 0; row < kRows; ++row) labels[row] = static_cast<float>(row % kClasses);
  const std::vector<float> weights = RandomFloats(kRows, 0.5, 2, 3);
  std::vector<double> scores = RandomNumbers(kRows * kClasses, -2, 2, 1);
  for (double& score : scores) score = std::round(score * 4) / 4;
  const TreeDataset data = LabelledRows(labels, weights);
  double all = 0;
  double loss = 0;
  double wrong = 0;
  double wrong_of_two = 0;
  for (size_t row = 0; row < kRows; ++row) {
    const double w = weights[row];
    double sum = 0;
    int no_worse = 0;
    const double own = scores[row % kClasses * kRows + row];
    for (size_t k = 0; k < kClasses; ++k) {
      sum += std::exp(scores[k * kRows + row]);
      no_worse += scores[k * kRows + row] >= own ? 1 : 0;
    }
    all += w;
    loss += w * (std::log(sum) - own);
    wrong += no_worse > 1 ? w : 0;
    wrong_of_two += no_worse > 2 ? w : 0;
  }
  TreeParameters p =
      Parameters("multiclass", {"softmax", "multi_error", "auc_mu", "accuracy"}, kClasses);
  auto values = Measure(p, data, scores);
  EXPECT_NEAR(values[0].value, loss / all, 1e-9);
  EXPECT_NEAR(values[1].value, wrong / all, 1e-9);
  // Of each two classes, pairs of rows in the order of the difference of the classes' scores.
  double sum = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    for (size_t j = i + 1; j < kClasses; ++j) {
      double right = 0;
      double pairs = 0;
      for (size_t a = i; a < kRows; a += kClasses) {
        for (size_t b = j; b < kRows; b += kClasses) {
          const double w = static_cast<double>(weights[a]) * weights[b];
          const double off = (scores[i * kRows + a] - scores[j * kRows + a]) -
                             (scores[i * kRows + b] - scores[j * kRows + b]);
          pairs += w;
          right += w * (off > 0 ? 1 : off == 0 ? 0.5 : 0);
        }
      }
      sum += right / pairs;
    }
  }
  EXPECT_NEAR(values[2].value, sum / 3, 1e-9);
  EXPECT_NEAR(values[3].value, 1 - wrong / all, 1e-9);
  p.metric.multi_error_top_k = 2;
  values = Measure(p, data, scores);
  EXPECT_EQ(values[1].name, "multi_error@2");
  EXPECT_NEAR(values[1].value, wrong_of_two / all, 1e-9);
}

TEST(TreeMetric, TheShareOfTheLabelsSquaresThatIsExplained) {
  constexpr size_t kRows = 50;
  const std::vector<float> labels = RandomFloats(kRows, -3, 4, 1);
  const std::vector<double> scores = RandomNumbers(kRows, -3, 4, 3);
  for (const bool weighted : {false, true}) {
    const TreeDataset data =
        LabelledRows(labels, weighted ? RandomFloats(kRows, 0.1, 2, 2) : std::vector<float>());
    const auto weight = [&](size_t row) -> double { return weighted ? data.weights[row] : 1; };
    double all = 0;
    double mean = 0;
    for (size_t row = 0; row < kRows; ++row) {
      all += weight(row);
      mean += weight(row) * labels[row];
    }
    mean /= all;
    double squares = 0;
    double left = 0;
    for (size_t row = 0; row < kRows; ++row) {
      squares += weight(row) * std::pow(labels[row] - mean, 2);
      left += weight(row) * std::pow(labels[row] - scores[row], 2);
    }
    const auto values = Measure(Parameters("regression", {"r2"}), data, scores);
    ASSERT_EQ(values.size(), 1U);
    EXPECT_NEAR(values[0].value, 1 - left / squares, 1e-9);
    EXPECT_TRUE(values[0].higher_is_better);
  }
}

TEST(TreeMetric, LabelsThatAreAllTheSameAreExplainedOrNot) {
  const TreeDataset data = LabelledRows({2, 2});
  EXPECT_EQ(Measure(Parameters("regression", {"r2"}), data, {2, 2})[0].value, 1);
  EXPECT_EQ(Measure(Parameters("regression", {"r2"}), data, {2, 3})[0].value, 0);
}

// Of each two classes, pairs of rows by the part of their scores along the difference of the two
// classes' rows of weights.
TEST(TreeMetric, AucMuTakesMistakesToBeAsBadAsTheirWeights) {
  constexpr size_t kRows = 60;
  constexpr size_t kClasses = 3;
  std::vector<float> labels(kRows);
  for (size_t row = 0; row < kRows; ++row) labels[row] = static_cast<float>(row % kClasses);
  const TreeDataset data = LabelledRows(labels, RandomFloats(kRows, 0.1, 2, 2));
  const std::vector<double> scores = RandomNumbers(kRows * kClasses, -1, 2, 3);
  TreeParameters p = Parameters("multiclass", {"auc_mu"}, kClasses);
  p.metric.auc_mu_weights = {9, 1, 2, 4, 0, 7, 3, 5, 0};  // the first says nothing
  const double weights[kClasses][kClasses] = {{0, 1, 2}, {4, 0, 7}, {3, 5, 0}};
  double sum = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    for (size_t j = i + 1; j < kClasses; ++j) {
      const auto side_of = [&](size_t row) {
        double along = 0;
        for (size_t k = 0; k < kClasses; ++k) {
          along += (weights[i][k] - weights[j][k]) * scores[k * kRows + row];
        }
        return along * (-weights[j][i] - weights[i][j]);
      };
      double right = 0;
      double pairs = 0;
      for (size_t a = i; a < kRows; a += kClasses) {
        for (size_t b = j; b < kRows; b += kClasses) {
          const double w = static_cast<double>(data.weights[a]) * data.weights[b];
          pairs += w;
          right += w * (side_of(a) > side_of(b) ? 1 : side_of(a) == side_of(b) ? 0.5 : 0);
        }
      }
      sum += right / pairs;
    }
  }
  EXPECT_NEAR(Measure(p, data, scores)[0].value, sum / 3, 1e-9);
}

TEST(TreeMetric, WeightsOfMistakesThatDoNotFitAreNamed) {
  TreeParameters p = Parameters("multiclass", {"auc_mu"}, 2);
  const auto message = [&](std::vector<double> weights) {
    p.metric.auc_mu_weights = std::move(weights);
    return std::string(
        MakeMetrics(p.metric, p.objective, LabelledRows({0, 1}), *PoolOf(0)).status().message());
  };
  EXPECT_EQ(message({0, 1, 1}),
            "auc_mu_weights: expected num_class x num_class = 4 numbers, found 3");
  EXPECT_EQ(
      message({0, 1, 0, 0}),
      "auc_mu_weights: expected other numbers than 0 for different classes, found 0 for class "
      "1 taken for class 0");
}

// NDCG's best order is found by trying all of them.
TEST(TreeMetric, RankMetricsAgainstAllOrders) {
  const std::vector<float> labels = {0, 2, 1, 0, 3, 1, 0, 0, 1, 0, 2};
  const std::vector<size_t> begins = {0, 5, 8, 11};  // the second has no label above 0 but one
  const std::vector<float> weights = RandomFloats(labels.size(), 0.5, 2, 4);
  const std::vector<double> scores = RandomNumbers(labels.size(), -1, 1, 3);
  const TreeDataset data = LabelledRows(labels, weights, begins);
  TreeParameters p = Parameters("lambdarank", {"ndcg", "map"});
  p.metric.eval_at = {3, 1};
  const auto values = Measure(p, data, scores);
  ASSERT_EQ(values.size(), 4U);
  const auto dcg = [&](const std::vector<size_t>& order, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < std::min(k, order.size()); ++i) {
      sum += (std::exp2(labels[order[i]]) - 1) * PlainDiscount(i);
    }
    return sum;
  };
  for (size_t at = 0; at < 2; ++at) {
    const size_t k = at == 0 ? 1 : 3;
    double ndcg = 0;
    double map = 0;
    double all = 0;
    for (size_t q = 0; q + 1 < begins.size(); ++q) {
      std::vector<size_t> order(begins[q + 1] - begins[q]);
      std::iota(order.begin(), order.end(), begins[q]);
      double weight = 0;
      size_t relevant = 0;
      for (const size_t row : order) {
        weight += static_cast<double>(weights[row]) / static_cast<double>(order.size());
        relevant += labels[row] > 0 ? 1 : 0;
      }
      double best = 0;
      std::vector<size_t> tried = order;
      do best = std::max(best, dcg(tried, k));
      while (std::ranges::next_permutation(tried).found);
      std::ranges::sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
      ndcg += weight * dcg(order, k) / best;
      double precision = 0;
      double hits = 0;
      for (size_t i = 0; i < std::min(k, order.size()); ++i) {
        if (labels[order[i]] > 0) precision += ++hits / static_cast<double>(i + 1);
      }
      map += weight * precision / static_cast<double>(std::min(relevant, k));
      all += weight;
    }
    EXPECT_EQ(values[at].name, k == 1 ? "ndcg@1" : "ndcg@3");
    EXPECT_NEAR(values[at].value, ndcg / all, 1e-6);
    EXPECT_NEAR(values[2 + at].value, map / all, 1e-6);
  }
}

TEST(TreeMetric, AQueryWithoutRelevantRowsCountsAsRight) {
  TreeParameters p = Parameters("lambdarank", {"ndcg", "map"});
  p.metric.eval_at = {2};
  for (const MetricValue& value : Measure(p, LabelledRows({0, 0}, {}, {0, 2}), {1, 2})) {
    EXPECT_EQ(value.value, 1) << value.name;
  }
}

// Queries of 5, 4, 3, 6 and 4 rows, of which the second and the fourth have no relevant row, with
// weights and scores of a model of LightGBM 4.7.
TreeDataset WeightedQueries() {
  return LabelledRows({0, 1, 2, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0},
                      {0.56, 1.59, 2.98, 1.13, 1.11, 0.64, 0.31, 2.29, 0.88, 1.05, 1.72,
                       0.41, 1.97, 0.69, 2.02, 2.35, 0.56, 1.49, 2.33, 1.49, 0.4,  1.86},
                      {0, 5, 9, 12, 18, 22});
}

const std::vector<double> kWeightedScores = {
    0.0214,  -0.0677, 0.2426, -0.0677, 0.2739,  0.0214, -0.3499, -0.0677, 0.2739,  0.2426, -0.26,
    -0.3202, -0.26,   0.2426, -0.3499, -0.0677, 0.2739, 0.2739,  -0.26,   -0.3202, 0.1114, -0.3499};

TEST(TreeMetric, AWeightedQueryWithoutAGainCountsAsOneInNdcgAndAsItsWeightInMap) {
  TreeParameters p = Parameters("lambdarank", {"ndcg", "map"});
  p.metric.eval_at = {1, 3, 5};
  const auto values = Measure(p, WeightedQueries(), kWeightedScores);
  const double of_lightgbm[] = {0.9176434998, 0.9057501415, 0.9159945227, 1,
                                0.9255254611, 0.9813813653};
  ASSERT_EQ(values.size(), std::size(of_lightgbm));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i].value, of_lightgbm[i], 1e-6) << values[i].name;
  }
}

TEST(TreeMetric, TheFewestPlacesDecideWhetherAQueryHasAGain) {
  TreeParameters p = Parameters("lambdarank", {"ndcg"});
  p.metric.eval_at = {1, 3, 5};
  p.objective.label_gain = {5, 0, 1, 7};
  const auto values = Measure(p, WeightedQueries(), std::vector<double>(22, 0));
  const double of_lightgbm[] = {0.6966739746, 0.8133165215, 0.9284973113};
  ASSERT_EQ(values.size(), std::size(of_lightgbm));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i].value, of_lightgbm[i], 1e-6) << values[i].name;
  }
}

TEST(TreeMetric, NamesAreLightGbmsAndEachIsMeasuredOnce) {
  const TreeDataset data = LabelledRows({1, 2});
  const auto names = [&](const TreeParameters& p) {
    std::string text;
    for (const MetricValue& value : Measure(p, data, {0, 0})) text += value.name + " ";
    return text;
  };
  EXPECT_EQ(names(Parameters("regression", {})), "l2 ");
  EXPECT_EQ(names(Parameters("poisson", {})), "poisson ");
  EXPECT_EQ(names(Parameters("regression", {"mse", "l2", "l2_root", "mae"})), "l2 rmse l1 ");
  EXPECT_EQ(names(Parameters("regression", {"none"})), "");
}

// Rows of several pieces, many of equal scores.
TEST(TreeMetric, ThreadsDoNotMatter) {
  constexpr size_t kRows = 70'000;
  Random random(3);
  std::vector<float> labels;
  std::vector<double> scores;
  for (size_t row = 0; row < kRows; ++row) {
    labels.push_back(static_cast<float>(random.Below(2)));
    scores.push_back(static_cast<double>(random.Below(5000)) / 1000 - 2 + labels.back());
  }
  TreeDataset data = LabelledRows(labels);
  for (size_t row = 0; row < kRows; ++row) {
    data.weights.push_back(static_cast<float>(random.Below(1000)) / 500);
  }
  for (size_t begin = 0; begin <= kRows; begin += 100) data.query_begins.push_back(begin);
  const TreeParameters p = Parameters(
      "binary", {"binary_logloss", "auc", "average_precision", "cross_entropy", "ndcg", "map"});
  const std::vector<MetricValue> alone = Measure(p, data, scores);
  ASSERT_EQ(alone.size(), 14U);
  for (const int threads : {1, 3}) {
    const std::vector<MetricValue> together = Measure(p, data, scores, threads);
    ASSERT_EQ(together.size(), alone.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(together[i].value, alone[i].value) << alone[i].name;
    }
  }
  // The area, pair by pair of thresholds.
  std::map<double, std::pair<double, double>> at;  // weights of positive and negative rows
  for (size_t row = 0; row < kRows; ++row) {
    auto& [positive, negative] = at[scores[row]];
    (labels[row] > 0 ? positive : negative) += data.weights[row];
  }
  double area = 0;
  double positives = 0;
  double negatives = 0;
  for (const auto& [score, weights] : at) {
    area += weights.first * (negatives + weights.second / 2);
    positives += weights.first;
    negatives += weights.second;
  }
  EXPECT_NEAR(alone[1].value, area / (positives * negatives), 1e-12);
}

TEST(TreeMetric, WhatDoesNotFitIsNamed) {
  const auto message = [](const TreeParameters& p, const TreeDataset& data) {
    const auto pool = WorkPool::Start("test", 0);
    STRATA_CHECK(pool.ok());
    const auto metrics = MakeMetrics(p.metric, p.objective, data, **pool);
    EXPECT_FALSE(metrics.ok());
    return std::string(metrics.ok() ? "" : metrics.status().message());
  };
  const TreeDataset data = LabelledRows({0, 1, 2});
  EXPECT_NE(
      message(Parameters("regression", {"l3"}), data).find("metric = l3: not known: expected"),
      std::string::npos);
  EXPECT_EQ(message(Parameters("binary", {"xentlambda"}), data),
            "metric = cross_entropy_lambda does not fit objective = binary: it is for that of its "
            "name");
  EXPECT_EQ(message(Parameters("cross_entropy_lambda", {}), LabelledRows({0, 1}, {1, 0})),
            "row 2: metric = cross_entropy_lambda needs weights above 0, found 0");
  EXPECT_EQ(message(Parameters("regression", {"multi_error"}), data),
            "metric = multi_error does not fit objective = regression with num_class = 1");
  EXPECT_EQ(message(Parameters("multiclass", {"l2"}, 3), data),
            "metric = l2 does not fit objective = multiclass with num_class = 3");
  EXPECT_EQ(message(Parameters("regression", {"xentropy"}), data),
            "row 3: metric = cross_entropy needs labels from 0 to 1, found 2");
  // Validation data: no objective has seen its labels.
  EXPECT_EQ(
      message(Parameters("multiclass", {"multi_logloss"}, 2), data),
      "row 3: metric = multi_logloss needs whole labels from 0 to 1 (num_class - 1), found 2");
  EXPECT_EQ(message(Parameters("binary", {"binary_error"}), data),
            "row 3: metric = binary_error needs labels 0 (or -1) and 1, as objective = binary "
            "does, found 2");
}

}  // namespace
}  // namespace strata
