#include "worker/gbdt/metric/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/human_text.h"
#include "worker/gbdt/metric/factories.h"
#include "worker/gbdt/metric_names.h"

namespace strata {
namespace {

// A metric's labels may be those of validation data, which no objective has seen.
Status CheckLabels(const std::string& name, const TreeParameters& p, const TreeDataset& data) {
  std::function<bool(float)> fits;
  std::string expected;
  if (name.starts_with("cross_entropy") || name == "kullback_leibler") {
    fits = [](float label) { return label >= 0 && label <= 1; };
    expected = "labels from 0 to 1";
  } else if (IsMetricOfClasses(name) || (name == "accuracy" && p.num_class > 1)) {
    const auto classes = static_cast<float>(p.num_class);
    fits = [classes](float y) { return y >= 0 && y < classes && y == std::floor(y); };
    expected = fmt::format("whole labels from 0 to {} (num_class - 1)", p.num_class - 1);
  } else if (p.objective == "binary" && name.starts_with("binary")) {
    fits = [](float label) { return label == 0 || label == 1 || label == -1; };
    expected = "labels 0 (or -1) and 1, as objective = binary does";
  } else {
    return {};
  }
  return data.CheckLabels(fits, fmt::format("metric = {} needs {}", name, expected));
}

// Of cross_entropy_lambda: its scores say intensities, its weights too.
Status CheckIntensities(const TreeParameters& p, const TreeDataset& data) {
  if (p.objective != "cross_entropy_lambda") {
    return Invalid(fmt::format(
        "metric = cross_entropy_lambda does not fit objective = {}: it is for that of its name",
        p.objective));
  }
  const auto wrong = std::ranges::find_if(data.weights, [](float w) { return !(w > 0); });
  if (wrong == data.weights.end()) return {};
  return Invalid(fmt::format("{}: metric = cross_entropy_lambda needs weights above 0, found {}",
                             data.WhereIs(static_cast<size_t>(wrong - data.weights.begin())),
                             *wrong));
}

// A row of numbers for each class, in which its own place says nothing.
Status CheckClassWeights(const TreeParameters& p) {
  const std::vector<double>& weights = p.auc_mu_weights;
  const auto classes = static_cast<size_t>(p.num_class);
  if (weights.empty()) return {};
  if (weights.size() != classes * classes) {
    return Invalid(
        fmt::format("auc_mu_weights: expected num_class x num_class = {} numbers, found {}",
                    classes * classes, weights.size()));
  }
  for (size_t at = 0; at < weights.size(); ++at) {
    if (weights[at] != 0 || at / classes == at % classes) continue;
    return Invalid(fmt::format(
        "auc_mu_weights: expected other numbers than 0 for different classes, found 0 for class {} "
        "taken for class {}",
        at / classes, at % classes));
  }
  return {};
}

}  // namespace

Result<std::vector<std::unique_ptr<TreeMetric>>> MakeMetrics(const TreeParameters& p,
                                                             const TreeDataset& data,
                                                             WorkPool& pool) {
  std::vector<std::string> names = p.metrics;
  if (names.empty()) names = {p.objective};
  std::vector<std::unique_ptr<TreeMetric>> metrics;
  std::vector<std::string> made;
  for (const std::string& asked : names) {
    const std::string name = CanonicalMetric(asked);
    if (MeasuresNothing(name)) continue;
    if (std::ranges::count(made, name) > 0) continue;
    made.push_back(name);
    if (name == "ndcg" || name == "map") {
      STRATA_ASSIGN(std::unique_ptr<TreeMetric> metric, MakeRankMetric(name, p, data, pool));
      metrics.push_back(std::move(metric));
      continue;
    }
    std::unique_ptr<TreeMetric> metric = MakeRowMetric(name, p, data, pool);
    if (metric == nullptr) metric = MakeCurveMetric(name, p, data, pool);
    if (name == "cross_entropy_lambda") STRATA_TRY(CheckIntensities(p, data));
    if (name == "auc_mu") STRATA_TRY(CheckClassWeights(p));
    if (metric == nullptr) {
      return Invalid(fmt::format("metric = {}: not known: expected some of {}, none",
                                 ShownBytes(asked), MetricNames()));
    }
    if (name != "accuracy" && IsMetricOfClasses(name) != (p.num_class > 1)) {
      return Invalid(fmt::format("metric = {} does not fit objective = {} with num_class = {}",
                                 asked, p.objective, p.num_class));
    }
    STRATA_TRY(CheckLabels(name, p, data));
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace strata
