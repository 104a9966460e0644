#include "tests/soak/trees/metric_by_hand.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "strata/status.h"

namespace strata::soak {
namespace {

using Rows = PredictedRows;

double WeightOf(const Rows& rows, size_t row) {
  return rows.weights.empty() ? 1 : rows.weights[row];
}

double LogOf(double p) { return std::log(std::max(p, 1e-15)); }

double CrossEntropy(double p, double y) {
  return -y * std::log(std::max(p, 1e-12)) - (1 - y) * std::log(std::max(1 - p, 1e-12));
}

double PartOfEntropy(double p) { return p > 0 ? p * std::log(p) : 0; }

// By name: the loss of a prediction s of the label y.
using Loss = std::function<double(double s, double y)>;
std::map<std::string, Loss> Losses(const ByHandParameters& p) {
  const double a = p.alpha;
  const double c = p.fair_c;
  const double rho = p.tweedie_variance_power;
  const auto square = [](double s, double y) { return (s - y) * (s - y); };
  return {{"l2", square},
          {"rmse", square},
          {"r2", square},
          {"l1", [](double s, double y) { return std::abs(s - y); }},
          {"quantile", [a](double s, double y) { return s > y ? (1 - a) * (s - y) : a * (y - s); }},
          {"huber",
           [a](double s, double y) {
             const double off = std::abs(s - y);
             return off <= a ? off * off / 2 : a * (off - a / 2);
           }},
          {"fair",
           [c](double s, double y) {
             const double off = std::abs(s - y);
             return c * off - c * c * std::log1p(off / c);
           }},
          {"poisson", [](double s, double y) { return s - y * std::log(std::max(s, 1e-10)); }},
          {"mape", [](double s, double y) { return std::abs(y - s) / std::max(1.0, std::abs(y)); }},
          {"gamma", [](double s, double y) { return y / s + std::log(s); }},
          {"gamma_deviance",
           [](double s, double y) { return 2 * (y / (s + 1e-9) - LogOf(y / (s + 1e-9)) - 1); }},
          {"tweedie",
           [rho](double s, double y) {
             const double at_least = std::max(s, 1e-10);
             return -y * std::pow(at_least, 1 - rho) / (1 - rho) +
                    std::pow(at_least, 2 - rho) / (2 - rho);
           }},
          {"binary_logloss", [](double s, double y) { return -LogOf(y > 0 ? s : 1 - s); }},
          {"binary_error", [](double s, double y) { return (s > 0.5) == (y > 0) ? 0 : 1; }},
          {"accuracy", [](double s, double y) { return (s > 0.5) == (y > 0) ? 1 : 0; }},
          {"cross_entropy", CrossEntropy},
          {"kullback_leibler", [](double s, double y) {
             return CrossEntropy(s, y) + PartOfEntropy(y) + PartOfEntropy(1 - y);
           }}};
}

double WeightOfAll(const Rows& rows) {
  double sum = 0;
  for (size_t row = 0; row < rows.labels.size(); ++row) sum += WeightOf(rows, row);
  return sum;
}

double Mean(const Rows& rows, const std::function<double(size_t row)>& of_row) {
  double sum = 0;
  for (size_t row = 0; row < rows.labels.size(); ++row) sum += WeightOf(rows, row) * of_row(row);
  return sum / WeightOfAll(rows);
}

// What is left of the labels' mean squared distance from their mean.
double ShareExplained(const Rows& rows, double loss) {
  const double mean = Mean(rows, [&](size_t row) { return rows.labels[row]; });
  const double variance =
      Mean(rows, [&](size_t row) { return (rows.labels[row] - mean) * (rows.labels[row] - mean); });
  constexpr double kZero = 1e-35;  // of sums, as LightGBM has it
  if (variance * WeightOfAll(rows) < kZero) return loss * WeightOfAll(rows) < kZero ? 1 : 0;
  return 1 - loss / variance;
}

// Weights are intensities: they are within the loss, and rows count alike.
double MeanOfIntensities(const Rows& rows) {
  double sum = 0;
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    const double p = 1 - std::exp(-WeightOf(rows, row) * rows.predicted[row]);
    sum += CrossEntropy(p, rows.labels[row]);
  }
  return sum / static_cast<double>(rows.labels.size());
}

double OfClasses(const std::string& name, int64_t top, const Rows& rows) {
  return Mean(rows, [&](size_t row) {
    const double* const p = &rows.predicted[row * rows.classes];
    const double own = p[static_cast<size_t>(rows.labels[row])];
    if (name == "multi_logloss") return -LogOf(own);
    const auto better = std::count_if(p, p + rows.classes, [own](double q) { return q >= own; });
    const bool is_right = better <= (name == "accuracy" ? 1 : top);
    return is_right == (name == "accuracy") ? 1.0 : 0.0;
  });
}

// The share of pairs, by weight, whose positive row has the higher score; equal scores are half.
double AucOf(const std::vector<double>& scores, const std::vector<bool>& positive,
             const std::vector<double>& weights) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double area = 0;
  double negative_below = 0;
  double all_positive = 0;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    double here[2] = {0, 0};
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end) {
      here[positive[order[end]] ? 1 : 0] += weights[order[end]];
    }
    area += here[1] * (negative_below + here[0] / 2);
    negative_below += here[0];
    all_positive += here[1];
    begin = end;
  }
  if (all_positive <= 0 || negative_below <= 0) return 1;
  return area / all_positive / negative_below;
}

double Auc(const Rows& rows) {
  std::vector<bool> positive;
  std::vector<double> weights;
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    positive.push_back(rows.labels[row] > 0);
    weights.push_back(WeightOf(rows, row));
  }
  return AucOf(rows.raw, positive, weights);
}

double AucMu(const Rows& rows) {
  double sum = 0;
  for (size_t i = 0; i < rows.classes; ++i) {
    for (size_t j = i + 1; j < rows.classes; ++j) {
      std::vector<double> scores;
      std::vector<bool> positive;
      std::vector<double> weights;
      for (size_t row = 0; row < rows.labels.size(); ++row) {
        const auto label = static_cast<size_t>(rows.labels[row]);
        if (label != i && label != j) continue;
        scores.push_back(rows.raw[row * rows.classes + i] - rows.raw[row * rows.classes + j]);
        positive.push_back(label == i);
        weights.push_back(WeightOf(rows, row));
      }
      sum += AucOf(scores, positive, weights);
    }
  }
  return sum / (static_cast<double>(rows.classes * (rows.classes - 1)) / 2);
}

// Precision at each threshold, by how much of the positive weight it adds.
double AveragePrecision(const Rows& rows) {
  std::vector<size_t> order(rows.labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return rows.raw[a] > rows.raw[b]; });
  double positive = 0;
  double all = 0;
  double sum = 0;
  for (size_t begin = 0; begin < order.size();) {
    double added = 0;
    size_t end = begin;
    for (; end < order.size() && rows.raw[order[end]] == rows.raw[order[begin]]; ++end) {
      const double weight = WeightOf(rows, order[end]);
      all += weight;
      if (rows.labels[order[end]] > 0) added += weight;
    }
    positive += added;
    if (all > 0) sum += added * positive / all;
    begin = end;
  }
  return positive > 0 && positive < all ? sum / positive : 1;
}

double DcgOf(const std::vector<double>& labels, size_t places) {
  double sum = 0;
  for (size_t place = 0; place < std::min(places, labels.size()); ++place) {
    sum += (std::exp2(labels[place]) - 1) / std::log2(static_cast<double>(place) + 2);
  }
  return sum;
}

double PrecisionOf(const std::vector<double>& labels, size_t places) {
  double sum = 0;
  double hits = 0;
  for (size_t place = 0; place < std::min(places, labels.size()); ++place) {
    if (labels[place] <= 0) continue;
    hits += 1;
    sum += hits / static_cast<double>(place + 1);
  }
  return sum;
}

// What a query's labels, in the order of their scores, are worth beside the best order; 1 where no
// row is relevant.
double ShareOfBest(bool is_ndcg, const std::vector<double>& by_score, size_t places) {
  std::vector<double> best = by_score;
  std::ranges::sort(best, std::greater<>());
  if (best.empty() || best[0] <= 0) return 1;
  if (is_ndcg) return DcgOf(by_score, places) / DcgOf(best, places);
  const auto relevant = std::ranges::count_if(best, [](double label) { return label > 0; });
  return PrecisionOf(by_score, places) /
         static_cast<double>(std::min<size_t>(static_cast<size_t>(relevant), places));
}

double OfQueries(const std::string& name, const Rows& rows) {
  const size_t at = name.find('@');
  const auto places = static_cast<size_t>(std::atoi(name.c_str() + at + 1));
  double sum = 0;
  double weight_of_all = 0;
  for (size_t q = 0; q + 1 < rows.query_begins.size(); ++q) {
    const size_t begin = rows.query_begins[q];
    const size_t size = rows.query_begins[q + 1] - begin;
    std::vector<size_t> order(size);
    std::iota(order.begin(), order.end(), begin);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return rows.raw[a] > rows.raw[b]; });
    std::vector<double> by_score;
    float weight = 0;  // a query weighs what its rows do on average
    for (const size_t row : order) by_score.push_back(rows.labels[row]);
    for (size_t row = begin; row < begin + size; ++row) {
      weight += static_cast<float>(WeightOf(rows, row));
    }
    const bool is_ndcg = name.starts_with("ndcg");
    const bool is_relevant = std::ranges::any_of(by_score, [](double label) { return label > 0; });
    const double of_query = size > 0 ? weight / static_cast<float>(size) : 0;
    // As LightGBM has it, a query without a gain counts as 1 in ndcg whatever it weighs.
    sum += is_ndcg && !is_relevant ? 1 : of_query * ShareOfBest(is_ndcg, by_score, places);
    weight_of_all += of_query;
  }
  return sum / weight_of_all;
}

}  // namespace

std::vector<double> PredictedByHand(const std::string& model_text, const std::vector<double>& raw,
                                    size_t classes) {
  const std::string name = model_text.substr(0, model_text.find(' '));
  const size_t at = model_text.find("sigmoid:");
  const double slope = at == std::string::npos ? 1 : std::atof(model_text.c_str() + at + 8);
  std::vector<double> predicted = raw;
  if (name == "multiclass") {
    for (size_t begin = 0; begin < raw.size(); begin += classes) {
      double sum = 0;
      const double largest = *std::max_element(&raw[begin], &raw[begin] + classes);
      for (size_t k = 0; k < classes; ++k) sum += std::exp(raw[begin + k] - largest);
      for (size_t k = 0; k < classes; ++k) {
        predicted[begin + k] = std::exp(raw[begin + k] - largest) / sum;
      }
    }
    return predicted;
  }
  for (double& score : predicted) {
    if (name == "binary" || name == "multiclassova" || name == "cross_entropy") {
      score = 1 / (1 + std::exp(-slope * score));
    } else if (name == "poisson" || name == "gamma" || name == "tweedie") {
      score = std::exp(score);
    } else if (name == "cross_entropy_lambda") {
      score = std::log1p(std::exp(score));
    } else if (model_text.find(" sqrt") != std::string::npos) {
      score *= std::abs(score);
    }
  }
  return predicted;
}

double MetricByHand(const std::string& name, const ByHandParameters& parameters, const Rows& rows) {
  if (name.starts_with("ndcg@") || name.starts_with("map@")) return OfQueries(name, rows);
  if (name == "auc") return Auc(rows);
  if (name == "auc_mu") return AucMu(rows);
  if (name == "average_precision") return AveragePrecision(rows);
  if (name == "cross_entropy_lambda") return MeanOfIntensities(rows);
  if (name.starts_with("multi_") || (name == "accuracy" && rows.classes > 1)) {
    return OfClasses(name, parameters.multi_error_top_k, rows);
  }
  const std::map<std::string, Loss> losses = Losses(parameters);
  const auto found = losses.find(name);
  STRATA_CHECK(found != losses.end());
  const double mean =
      Mean(rows, [&](size_t row) { return found->second(rows.predicted[row], rows.labels[row]); });
  if (name == "gamma_deviance") return mean * WeightOfAll(rows);
  if (name == "r2") return ShareExplained(rows, mean);
  return name == "rmse" ? std::sqrt(mean) : mean;
}

}  // namespace strata::soak
