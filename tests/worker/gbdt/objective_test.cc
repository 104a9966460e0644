#include "worker/gbdt/objective/objective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/worker/gbdt/labelled_rows.h"

namespace strata {
namespace {

using Loss = std::function<double(double score, double label)>;

struct PointwiseCase {
  std::string name;
  ObjectiveParameters parameters;
  double low;  // labels
  double high;
  Loss loss;
  bool hessian_is_second_derivative;
  Loss hessian = nullptr;  // where it is not
};

double SizeOf(double x) { return std::fabs(x); }

std::vector<PointwiseCase> PointwiseCases() {
  const auto with = [](const std::string& objective) {
    ObjectiveParameters p;
    p.name = objective;
    return p;
  };
  const Loss one = [](double, double) { return 1.0; };
  std::vector<PointwiseCase> cases = {
      {"l2", with("regression"), -3, 3, [](double s, double y) { return 0.5 * (s - y) * (s - y); },
       true},
      {"l1", with("regression_l1"), -3, 3, [](double s, double y) { return SizeOf(s - y); }, false,
       one},
      {"huber", with("huber"), -3, 3,
       [](double s, double y) {
         const double off = SizeOf(s - y);
         return off <= 0.9 ? 0.5 * off * off : 0.9 * (off - 0.45);
       },
       false, one},
      {"fair", with("fair"), -3, 3,
       [](double s, double y) { return SizeOf(s - y) - std::log(1 + SizeOf(s - y)); }, true},
      {"poisson", with("poisson"), 0, 5, [](double s, double y) { return std::exp(s) - y * s; },
       false, [](double s, double) { return std::exp(s + 0.7); }},
      {"quantile", with("quantile"), -3, 3,
       [](double s, double y) { return s >= y ? 0.1 * (s - y) : 0.9 * (y - s); }, false, one},
      {"mape", with("mape"), 0.1, 9,
       [](double s, double y) { return SizeOf(s - y) / std::max(1.0, y); }, false, one},
      {"gamma", with("gamma"), 0.1, 5, [](double s, double y) { return y * std::exp(-s) + s; },
       true},
      {"tweedie", with("tweedie"), 0, 5,
       [](double s, double y) { return -y * std::exp(-0.5 * s) / -0.5 + std::exp(0.5 * s) / 0.5; },
       true},
      {"cross_entropy", with("cross_entropy"), 0, 1,
       [](double s, double y) {
         return y * std::log(1 + std::exp(-s)) + (1 - y) * std::log(1 + std::exp(s));
       },
       true}};
  PointwiseCase binary{"binary",
                       with("binary"),
                       0,
                       1,
                       [](double s, double y) {
                         return (y > 0 ? 3 : 1) *
                                std::log(1 + std::exp((y > 0 ? -1 : 1) * 1.5 * s));
                       },
                       true};
  binary.parameters.sigmoid = 1.5;
  binary.parameters.scale_pos_weight = 3;
  cases.push_back(binary);
  return cases;
}

TEST(TreeObjective, IntensitiesHaveTheSlopesOfTheirLoss) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  constexpr size_t kRows = 200;
  ObjectiveParameters p;
  p.name = "cross_entropy_lambda";
  for (const bool weighted : {true, false}) {
    const TreeDataset data =
        LabelledRows(RandomFloats(kRows, 0, 1, 1),
                     weighted ? RandomFloats(kRows, 0.1, 3, 2) : std::vector<float>());
    const auto objective = MakeObjective(p, data);
    ASSERT_TRUE(objective.ok()) << objective.status().ToString();
    const std::vector<double> scores = RandomNumbers(kRows, -2, 2, 3);
    std::vector<float> gradients(kRows);
    std::vector<float> hessians(kRows);
    (*objective)->Gradients(scores, 0, *pool, gradients, hessians);
    double labels = 0;
    double weights = 0;
    for (size_t row = 0; row < kRows; ++row) {
      constexpr double kStep = 1e-4;
      const double y = data.labels[row];
      const double w = weighted ? data.weights[row] : 1;
      labels += w * y;
      weights += w;
      const auto loss = [&](double s) {
        const double q = std::pow(1 + std::exp(s), -w);
        return -y * std::log(1 - q) - (1 - y) * std::log(q);
      };
      const double s = scores[row];
      EXPECT_NEAR(gradients[row], (loss(s + kStep) - loss(s - kStep)) / (2 * kStep), 1e-5) << row;
      EXPECT_NEAR(hessians[row],
                  (loss(s + kStep) - 2 * loss(s) + loss(s - kStep)) / (kStep * kStep), 1e-4)
          << row;
    }
    EXPECT_NEAR((*objective)->StartScore(0), std::log(std::expm1(labels / weights)), 1e-12);
  }
  const auto message = [&](const TreeDataset& data) {
    return std::string(MakeObjective(p, data).status().message());
  };
  EXPECT_EQ(message(LabelledRows({0, 1.5F})),
            "row 2: objective = cross_entropy_lambda needs labels from 0 to 1, found 1.5");
  EXPECT_EQ(message(LabelledRows({0, 1}, {1, 0})),
            "row 2: objective = cross_entropy_lambda needs weights above 0, found 0");
}

// Gradients against differences of the loss, row by row, with weights.
TEST(TreeObjective, GradientsAreTheSlopesOfTheLoss) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  constexpr size_t kRows = 200;
  for (const PointwiseCase& c : PointwiseCases()) {
    std::vector<float> labels = RandomFloats(kRows, c.low, c.high, 1);
    if (c.name == "binary") {
      for (float& label : labels) label = std::round(label);
    }
    const TreeDataset data = LabelledRows(labels, RandomFloats(kRows, 0.1, 3, 2));
    const auto objective = MakeObjective(c.parameters, data);
    ASSERT_TRUE(objective.ok()) << objective.status().ToString();
    const std::vector<double> scores = RandomNumbers(kRows, -2, 2, 3);
    std::vector<float> gradients(kRows);
    std::vector<float> hessians(kRows);
    (*objective)->Gradients(scores, 0, *pool, gradients, hessians);
    for (size_t row = 0; row < kRows; ++row) {
      constexpr double kStep = 1e-4;
      const double y = labels[row];
      const double s = scores[row];
      const double w = data.weights[row];
      if (SizeOf(s - y) < 2 * kStep || SizeOf(SizeOf(s - y) - 0.9) < 2 * kStep) continue;  // kinks
      const double up = c.loss(s + kStep, y);
      const double down = c.loss(s - kStep, y);
      EXPECT_NEAR(gradients[row], w * (up - down) / (2 * kStep), 1e-5 * (1 + w * SizeOf(up)))
          << c.name << " row " << row;
      const double hessian = c.hessian_is_second_derivative
                                 ? (up - 2 * c.loss(s, y) + down) / (kStep * kStep)
                                 : c.hessian(s, y);
      EXPECT_NEAR(hessians[row], w * hessian, 1e-4 * (1 + w * hessian)) << c.name << " row " << row;
    }
  }
}

// Softmax and one-vs-all: -log of the label's probability, differences along each class.
TEST(TreeObjective, MulticlassGradientsAreTheSlopesOfTheLoss) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  constexpr size_t kRows = 60;
  constexpr size_t kClasses = 3;
  std::vector<float> labels(kRows);
  for (size_t row = 0; row < kRows; ++row) labels[row] = static_cast<float>(row % kClasses);
  const TreeDataset data = LabelledRows(labels, RandomFloats(kRows, 0.1, 3, 2));
  const std::vector<double> scores = RandomNumbers(kRows * kClasses, -2, 2, 3);
  for (const bool one_vs_all : {false, true}) {
    ObjectiveParameters p;
    p.name = one_vs_all ? "multiclassova" : "multiclass";
    p.num_class = kClasses;
    const auto loss = [&](const std::vector<double>& s, size_t label) {
      double sum = 0;
      if (one_vs_all) {
        for (size_t k = 0; k < kClasses; ++k) {
          sum += std::log(1 + std::exp(k == label ? -s[k] : s[k]));
        }
        return sum;
      }
      for (const double score : s) sum += std::exp(score);
      return std::log(sum) - s[label];
    };
    const auto objective = MakeObjective(p, data);
    ASSERT_TRUE(objective.ok());
    std::vector<float> gradients(kRows * kClasses);
    std::vector<float> hessians(kRows * kClasses);
    (*objective)->Gradients(scores, 0, *pool, gradients, hessians);
    const double factor = one_vs_all ? 1 : 1.5;  // K / (K - 1)
    for (size_t row = 0; row < kRows; ++row) {
      std::vector<double> s(kClasses);
      for (size_t k = 0; k < kClasses; ++k) s[k] = scores[k * kRows + row];
      for (size_t k = 0; k < kClasses; ++k) {
        constexpr double kStep = 1e-4;
        std::vector<double> up = s;
        std::vector<double> down = s;
        up[k] += kStep;
        down[k] -= kStep;
        const size_t label = row % kClasses;
        const double w = data.weights[row];
        const double slope = (loss(up, label) - loss(down, label)) / (2 * kStep);
        const double bend =
            (loss(up, label) - 2 * loss(s, label) + loss(down, label)) / (kStep * kStep);
        EXPECT_NEAR(gradients[k * kRows + row], w * slope, 1e-5 * (1 + w));
        EXPECT_NEAR(hessians[k * kRows + row], w * factor * bend, 1e-4 * (1 + w));
      }
    }
  }
}

TEST(TreeObjective, ScoresStartWhereAConstantLosesLeast) {
  const std::vector<float> labels = {0.5F, 1, 4, 2, 0.25F};
  const std::vector<float> weights = {1, 2, 0.5F, 1, 1};
  double mean = 0;
  double weighted = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    mean += static_cast<double>(labels[i]) / 5;
    weighted += static_cast<double>(labels[i]) * weights[i] / 5.5;
  }
  const auto start = [](const std::string& name, const TreeDataset& data) {
    ObjectiveParameters p;
    p.name = name;
    p.sigmoid = 2;
    const auto objective = MakeObjective(p, data);
    EXPECT_TRUE(objective.ok()) << objective.status().ToString();
    return (*objective)->StartScore(0);
  };
  for (const char* name : {"regression", "huber", "fair"}) {
    EXPECT_NEAR(start(name, LabelledRows(labels)), mean, 1e-12) << name;
    EXPECT_NEAR(start(name, LabelledRows(labels, weights)), weighted, 1e-12) << name;
  }
  for (const char* name : {"poisson", "gamma", "tweedie"}) {
    EXPECT_NEAR(start(name, LabelledRows(labels, weights)), std::log(weighted), 1e-12) << name;
  }
  EXPECT_EQ(start("regression_l1", LabelledRows(labels)), 1);
  EXPECT_NEAR(start("binary", LabelledRows({0, 0, 1, 0})), std::log(1.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(start("binary", LabelledRows({0, 0, 1, 0}, {1, 1, 4, 2})), 0, 1e-12);
  EXPECT_NEAR(start("cross_entropy", LabelledRows({0.5F, 0.25F, 0, 0.25F})), std::log(1.0 / 3),
              1e-12);
}

TEST(TreeObjective, AClassThatIsNotThereNeedsNoTrees) {
  ObjectiveParameters p;
  p.name = "multiclass";
  p.num_class = 3;
  const TreeDataset two_of_three = LabelledRows({0, 2, 2});
  const auto objective = MakeObjective(p, two_of_three);
  EXPECT_TRUE((*objective)->NeedsTrees(0));
  EXPECT_FALSE((*objective)->NeedsTrees(1));
}

// Between the two nearest values in proportion, as NumPy's percentile.
TEST(TreeObjective, PercentilesAreThoseOfThePlainFormula) {
  for (uint32_t seed = 1; seed < 60; ++seed) {
    std::vector<double> values = RandomNumbers(1 + seed % 17, -5, 5, seed);
    const double share = RandomNumbers(1, 0.01, 0.99, seed + 100)[0];
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    const double place = static_cast<double>(sorted.size() - 1) * share;
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    const double part = place - static_cast<double>(below);
    EXPECT_NEAR(PercentileOf(values, share), sorted[below] * (1 - part) + sorted[above] * part,
                1e-12);
  }
}

// What LightGBM 4.7 starts from with objective = quantile, for these labels, weights and alpha.
TEST(TreeObjective, WeightedPercentilesAreLightGbms) {
  struct Case {
    std::vector<double> values;
    std::vector<double> weights;
    double share;
    double expected;
  };
  const Case cases[] = {{{-12, -7, -6, -5, -1, 1, 3, 6, 9, 12},
                         {0.52, 0.4, 0.13, 0.83, 0.1, 0.13, 0.28, 0.96, 0.64, 0.96},
                         0.5,
                         3},  // the upper weighs less than 1
                        {{1, 2, 3, 4}, {2, 2, 2, 2}, 0.4, 1 + (3.2 - 2) / 2.0},  // in proportion
                        {{1, 2, 3, 4}, {5, 1, 1, 1}, 0.5, 1},                    // the first
                        {{4, 1, 3, 2}, {5, 1, 1, 1}, 0.9, 4}};                   // the last
  for (const Case& c : cases) {
    const ExactUnits exact = ExactUnits::For(5, c.values.size());
    EXPECT_NEAR(WeightedPercentileOf(c.values, c.weights, c.share, exact), c.expected, 1e-12);
  }
}

// By the definition, with sums of weights that doubles hold exactly.
TEST(TreeObjective, WeightedPercentilesAreThoseOfThePlainFormula) {
  for (uint32_t seed = 1; seed < 200; ++seed) {
    const size_t count = 1 + seed % 23;
    std::vector<double> values = RandomNumbers(count, -3, 3, seed);
    std::vector<double> weights = RandomNumbers(count, 0, 3, seed + 1000);
    for (double& value : values) value = std::round(value);  // many are the same
    for (double& weight : weights) weight = std::round(weight * 16) / 16;
    const double share = std::round(RandomNumbers(1, 0, 1, seed + 2000)[0] * 16) / 16;
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
    double sum = 0;
    for (const double weight : weights) sum += weight;
    double before = 0;
    size_t place = 0;
    while (place + 1 < count && before + weights[order[place]] <= sum * share) {
      before += weights[order[place++]];
    }
    const double value = values[order[place]];
    double expected = value;
    if (place > 0 && place + 1 < count) {
      const double below = values[order[place - 1]];
      const double weight = weights[order[place]];
      expected = weight < 1 ? below : below + (value - below) * ((sum * share - before) / weight);
    }
    const ExactUnits exact = ExactUnits::For(3, 1000);
    EXPECT_NEAR(WeightedPercentileOf(values, weights, share, exact), expected, 1e-12) << seed;
  }
}

TEST(TreeObjective, LeavesAreRenewedByThePercentileOfResiduals) {
  const TreeDataset data = LabelledRows({1, 5, 2, 8, 3});
  const std::vector<double> scores = {0, 1, 2, 3, 4};  // residuals 1, 4, 0, 5, -1
  ObjectiveParameters p;
  p.name = "quantile";
  p.alpha = 0.75;
  auto objective = std::move(*MakeObjective(p, data));
  ASSERT_TRUE(objective->renews_outputs());
  const std::vector<uint32_t> rows = {0, 1, 2, 3, 4};
  std::vector<Residual> residuals = objective->Residuals(rows, scores);
  EXPECT_NEAR(objective->RenewedOutput(residuals), 4, 1e-12);
  p.name = "regression_l1";
  objective = std::move(*MakeObjective(p, data));
  residuals = objective->Residuals(std::vector<uint32_t>{1, 3, 4}, scores);
  EXPECT_NEAR(objective->RenewedOutput(residuals), 4, 1e-12);
  p.name = "mape";  // weights 1, 1/5, 1/2, 1/8, 1/3: half of them is reached at the residual 1
  objective = std::move(*MakeObjective(p, data));
  residuals = objective->Residuals(rows, scores);
  EXPECT_NEAR(objective->RenewedOutput(residuals),
              0 + (2.158333333 / 2 - 0.833333333) / 1 * (1 - 0), 1e-6);
  p.name = "huber";
  EXPECT_FALSE((*MakeObjective(p, data))->renews_outputs());
}

// Every pair of one query, without LightGBM's table of sigmoids.
TEST(TreeObjective, LambdasAreThoseOfThePairs) {
  const std::unique_ptr<WorkPool> pool = PoolOf(2);
  const std::vector<float> labels = {0, 2, 1, 0, 3, 1, 0, 1, 1, 2};
  const std::vector<size_t> begins = {0, 6, 10};
  const TreeDataset data = LabelledRows(labels, {}, begins);
  ObjectiveParameters p;
  p.name = "lambdarank";
  p.lambdarank_norm = false;
  const std::vector<double> scores = RandomNumbers(labels.size(), -1, 1, 5);
  std::vector<double> expected(labels.size());
  std::vector<double> bends(labels.size());
  for (size_t q = 0; q + 1 < begins.size(); ++q) {
    std::vector<size_t> order;
    std::vector<double> gains;
    for (size_t row = begins[q]; row < begins[q + 1]; ++row) {
      order.push_back(row);
      gains.push_back(std::exp2(labels[row]) - 1);
    }
    std::ranges::sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    std::ranges::sort(gains, std::greater<>());
    double most = 0;
    for (size_t i = 0; i < gains.size(); ++i) most += gains[i] * PlainDiscount(i);
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t j = 0; j < order.size(); ++j) {
        const size_t high = order[i];
        const size_t low = order[j];
        if (labels[high] <= labels[low]) continue;
        const double change = (std::exp2(labels[high]) - std::exp2(labels[low])) *
                              SizeOf(PlainDiscount(i) - PlainDiscount(j)) / most;
        const double chance = 1 / (1 + std::exp(scores[high] - scores[low]));
        expected[high] -= change * chance;
        expected[low] += change * chance;
        bends[high] += change * chance * (1 - chance);
        bends[low] += change * chance * (1 - chance);
      }
    }
  }
  std::vector<float> gradients(labels.size());
  std::vector<float> hessians(labels.size());
  (*MakeObjective(p, data))->Gradients(scores, 0, *pool, gradients, hessians);
  for (size_t row = 0; row < labels.size(); ++row) {
    EXPECT_NEAR(gradients[row], expected[row], 1e-4);
    EXPECT_NEAR(hessians[row], bends[row], 1e-4);
  }
}

TEST(TreeObjective, XendcgIsSeededByTheRoundAndSumsToNothing) {
  const TreeDataset data = LabelledRows({0, 2, 1, 0, 3, 1, 0, 1}, {}, {0, 5, 8});
  ObjectiveParameters p;
  p.name = "rank_xendcg";
  const auto objective = MakeObjective(p, data);
  ASSERT_TRUE(objective.ok());
  const std::vector<double> scores = RandomNumbers(8, -1, 1, 5);
  const auto gradients = [&](uint64_t round, int threads) {
    std::vector<float> found(8);
    std::vector<float> hessians(8);
    (*objective)->Gradients(scores, round, *PoolOf(threads), found, hessians);
    for (const float hessian : hessians) EXPECT_TRUE(hessian > 0 && hessian <= 0.25F);
    return found;
  };
  const std::vector<float> first = gradients(0, 0);
  EXPECT_EQ(first, gradients(0, 3));
  EXPECT_NE(first, gradients(1, 0));
}

// The bounds are LightGBM's, of single precision.
TEST(TreeObjective, OneClassStartsAtTheBoundOfItsLogarithmAndNeedsNoTrees) {
  ObjectiveParameters p;
  for (const char* name : {"binary", "cross_entropy"}) {
    p.name = name;
    const TreeDataset ones = LabelledRows({1, 1, 1});
    const TreeDataset zeros = LabelledRows({0, 0});
    const auto all = MakeObjective(p, ones);
    const auto none = MakeObjective(p, zeros);
    ASSERT_TRUE(all.ok()) << all.status().ToString();
    ASSERT_TRUE(none.ok()) << none.status().ToString();
    EXPECT_NEAR((*all)->StartScore(0), 34.539575992340879, 1e-13) << name;
    EXPECT_NEAR((*none)->StartScore(0), -34.538776391283193, 1e-13) << name;
    EXPECT_EQ((*all)->NeedsTrees(0), p.name == "cross_entropy");
  }
}

// A class against all others is binary, with the weights of its sides.
TEST(TreeObjective, SidesOfEachClassWeighAsThoseOfBinary) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  constexpr size_t kRows = 60;
  std::vector<float> labels(kRows);
  for (size_t row = 0; row < kRows; ++row) {
    labels[row] = row % 10 == 0 ? 2.0F : row % 3 == 0 ? 1.0F : 0.0F;
  }
  const TreeDataset classes = LabelledRows(labels, RandomFloats(kRows, 0.1, 3, 2));
  const std::vector<double> scores = RandomNumbers(3 * kRows, -2, 2, 3);
  for (const bool is_unbalance : {true, false}) {
    ObjectiveParameters p;
    p.name = "multiclassova";
    p.num_class = 3;
    p.sigmoid = 1.5;
    p.is_unbalance = is_unbalance;
    p.scale_pos_weight = is_unbalance ? 1 : 4;
    const auto one_vs_all = MakeObjective(p, classes);
    ASSERT_TRUE(one_vs_all.ok()) << one_vs_all.status().ToString();
    std::vector<float> gradients(3 * kRows);
    std::vector<float> hessians(3 * kRows);
    (*one_vs_all)->Gradients(scores, 0, *pool, gradients, hessians);
    p.name = "binary";
    p.num_class = 1;
    for (size_t k = 0; k < 3; ++k) {
      TreeDataset sides = LabelledRows(labels, classes.weights);
      for (float& label : sides.labels) label = label == static_cast<float>(k) ? 1 : 0;
      const auto binary = MakeObjective(p, sides);
      ASSERT_TRUE(binary.ok()) << binary.status().ToString();
      std::vector<float> own(kRows);
      std::vector<float> own_hessians(kRows);
      (*binary)->Gradients(std::span(scores).subspan(k * kRows, kRows), 0, *pool, own,
                           own_hessians);
      for (size_t row = 0; row < kRows; ++row) {
        EXPECT_EQ(gradients[k * kRows + row], own[row]) << k << " " << row;
        EXPECT_EQ(hessians[k * kRows + row], own_hessians[row]) << k << " " << row;
      }
    }
  }
}

TEST(TreeObjective, LabelsThatDoNotFitAreNamed) {
  const auto message = [](const std::string& name, const TreeDataset& data, int64_t classes = 1) {
    ObjectiveParameters p;
    p.name = name;
    p.num_class = classes;
    const auto objective = MakeObjective(p, data);
    EXPECT_FALSE(objective.ok()) << name;
    EXPECT_EQ(objective.status().code(), StatusCode::kInvalid);
    return std::string(objective.status().message());
  };
  EXPECT_EQ(message("binary", LabelledRows({0, 1, 2})),
            "row 3: objective = binary needs labels 0 (or -1) and 1, found 2");
  EXPECT_EQ(message("cross_entropy", LabelledRows({0.5F, 1.5F})),
            "row 2: objective = cross_entropy needs labels from 0 to 1, found 1.5");
  EXPECT_EQ(message("poisson", LabelledRows({1, -1})),
            "row 2: objective = poisson needs labels of at least 0, found -1");
  EXPECT_EQ(message("tweedie", LabelledRows({0, 0})),
            "objective = tweedie needs a label above 0: all 2 are 0");
  EXPECT_EQ(message("gamma", LabelledRows({1, 0})),
            "row 2: objective = gamma needs labels above 0, found 0");
  EXPECT_EQ(
      message("multiclass", LabelledRows({0, 1, 3}), 3),
      "row 3: objective = multiclass needs whole labels from 0 to 2 (num_class - 1), found 3");
  EXPECT_EQ(
      message("multiclassova", LabelledRows({0, 0.5F}), 3),
      "row 2: objective = multiclassova needs whole labels from 0 to 2 (num_class - 1), found 0.5");
  TreeDataset without_queries = LabelledRows({0, 1});
  without_queries.path = "d";
  EXPECT_EQ(message("lambdarank", without_queries),
            "d: ranking needs queries: give d.query (rows of each query, one a line), or "
            "group_column");
  EXPECT_EQ(
      message("rank_xendcg", LabelledRows({0, 31}, {}, {0, 2})),
      "row 2: ranking needs whole labels from 0 to 30 (label_gain names their gains), found 31");
}

}  // namespace
}  // namespace strata
