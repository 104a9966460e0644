#include "worker/gbdt/metric/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/human_text.h"
#include "worker/gbdt/metric/factories.h"
#include "worker/gbdt/parameters/metric_names.h"

namespace strata {
namespace {

// A metric's labels may be those of validation data, which no objective has seen.
Status CheckLabels(const std::string& name, const ObjectiveParameters& objective,
                   const TreeDataset& data) {
  std::function<bool(float)> fits;
  std::string expected;
  if (name.starts_with("cross_entropy") || name == "kullback_leibler") {
    fits = [](float label) { return label >= 0 && label <= 1; };
    expected = "labels from 0 to 1";
  } else if (IsMetricOfClasses(name) || (name == "accuracy" && objective.num_class > 1)) {
    const auto classes = static_cast<float>(objective.num_class);
    fits = [classes](float y) { return y >= 0 && y < classes && y == std::floor(y); };
    expected = fmt::format("whole labels from 0 to {} (num_class - 1)", objective.num_class - 1);
  } else if (objective.name == "binary" && name.starts_with("binary")) {
    fits = [](float label) { return label == 0 || label == 1 || label == -1; };
    expected = "labels 0 (or -1) and 1, as objective = binary does";
  } else {
    return {};
  }
  return data.CheckLabels(fits, fmt::format("metric = {} needs {}", name, expected));
}

// Of cross_entropy_lambda: its scores say intensities, its weights too.
Status CheckIntensities(const ObjectiveParameters& objective, const TreeDataset& data) {
  if (objective.name != "cross_entropy_lambda") {
    return Invalid(fmt::format(
        "metric = cross_entropy_lambda does not fit objective = {}: it is for that of its name",
        objective.name));
  }
  const auto wrong = std::ranges::find_if(data.weights, [](float w) { return !(w > 0); });
  if (wrong == data.weights.end()) return {};
  return Invalid(fmt::format("{}: metric = cross_entropy_lambda needs weights above 0, found {}",
                             data.WhereIs(static_cast<size_t>(wrong - data.weights.begin())),
                             *wrong));
}

// A row of numbers for each class, in which its own place says nothing.
Status CheckClassWeights(std::span<const double> weights, size_t classes) {
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

Result<std::vector<std::unique_ptr<TreeMetric>>> MakeMetrics(const MetricParameters& p,
                                                             const ObjectiveParameters& objective,
                                                             const TreeDataset& data,
                                                             WorkPool& pool) {
  std::vector<std::string> names = p.names;
  if (names.empty()) names = {objective.name};
  std::vector<std::unique_ptr<TreeMetric>> metrics;
  std::vector<std::string> made;
  for (const std::string& asked : names) {
    const std::string name = CanonicalMetric(asked);
    if (MeasuresNothing(name)) continue;
    if (std::ranges::count(made, name) > 0) continue;
    made.push_back(name);
    if (name == "ndcg" || name == "map") {
      STRATA_ASSIGN(std::unique_ptr<TreeMetric> metric,
                    MakeRankMetric(name, p, objective, data, pool));
      metrics.push_back(std::move(metric));
      continue;
    }
    std::unique_ptr<TreeMetric> metric = MakeRowMetric(name, p, objective, data, pool);
    if (metric == nullptr) metric = MakeCurveMetric(name, p, objective, data, pool);
    if (name == "cross_entropy_lambda") STRATA_TRY(CheckIntensities(objective, data));
    if (name == "auc_mu")
      STRATA_TRY(CheckClassWeights(p.auc_mu_weights, static_cast<size_t>(objective.num_class)));
    if (metric == nullptr) {
      return Invalid(fmt::format("metric = {}: not known: expected some of {}, none",
                                 ShownBytes(asked), MetricNames()));
    }
    if (name != "accuracy" && IsMetricOfClasses(name) != (objective.num_class > 1)) {
      return Invalid(fmt::format("metric = {} does not fit objective = {} with num_class = {}",
                                 asked, objective.name, objective.num_class));
    }
    STRATA_TRY(CheckLabels(name, objective, data));
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace strata
