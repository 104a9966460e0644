#include "worker/gbdt/metric/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "worker/gbdt/metric/factories.h"

namespace strata {
namespace {

// LightGBM's other names, and the metrics that belong to objectives.
std::string CanonicalName(const std::string& name) {
  static const std::map<std::string_view, std::string_view> aliases = {
      {"regression", "l2"},
      {"mean_squared_error", "l2"},
      {"mse", "l2"},
      {"regression_l2", "l2"},
      {"l2_root", "rmse"},
      {"root_mean_squared_error", "rmse"},
      {"regression_l1", "l1"},
      {"mean_absolute_error", "l1"},
      {"mae", "l1"},
      {"mean_absolute_percentage_error", "mape"},
      {"binary", "binary_logloss"},
      {"multiclass", "multi_logloss"},
      {"softmax", "multi_logloss"},
      {"multiclassova", "multi_logloss"},
      {"multiclass_ova", "multi_logloss"},
      {"ova", "multi_logloss"},
      {"ovr", "multi_logloss"},
      {"xentropy", "cross_entropy"},
      {"lambdarank", "ndcg"},
      {"rank_xendcg", "ndcg"},
      {"xendcg", "ndcg"},
      {"mean_average_precision", "map"}};
  const auto found = aliases.find(name);
  return std::string(found == aliases.end() ? std::string_view(name) : found->second);
}

bool IsOfClasses(const std::string& name) { return name.starts_with("multi_"); }

}  // namespace

Result<std::vector<std::unique_ptr<TreeMetric>>> MakeMetrics(const TreeParameters& p,
                                                             const TreeDataset& data) {
  std::vector<std::string> names = p.metrics;
  if (names.empty()) names = {p.objective};
  std::vector<std::unique_ptr<TreeMetric>> metrics;
  std::vector<std::string> made;
  for (const std::string& asked : names) {
    const std::string name = CanonicalName(asked);
    if (name == "none" || name == "null" || name == "na" || name == "custom") continue;
    if (std::ranges::count(made, name) > 0) continue;
    made.push_back(name);
    if (name == "ndcg" || name == "map") {
      STRATA_ASSIGN(std::unique_ptr<TreeMetric> metric, MakeRankMetric(name, p, data));
      metrics.push_back(std::move(metric));
      continue;
    }
    std::unique_ptr<TreeMetric> metric = MakeRowMetric(name, p, data);
    if (metric == nullptr) metric = MakeCurveMetric(name, data);
    if (metric == nullptr) {
      return Invalid(fmt::format(
          "metric = {}: not known: expected some of l1, l2, rmse, quantile, huber, fair, poisson, "
          "mape, gamma, gamma_deviance, tweedie, binary_logloss, binary_error, cross_entropy, auc, "
          "average_precision, multi_logloss, multi_error, ndcg, map, none",
          asked));
    }
    if (IsOfClasses(name) != (p.num_class > 1)) {
      return Invalid(fmt::format("metric = {} does not fit objective = {} with num_class = {}",
                                 asked, p.objective, p.num_class));
    }
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace strata
