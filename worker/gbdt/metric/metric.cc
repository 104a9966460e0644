#include "worker/gbdt/metric/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
      {"xentlambda", "cross_entropy_lambda"},
      {"kldiv", "kullback_leibler"},
      {"lambdarank", "ndcg"},
      {"rank_xendcg", "ndcg"},
      {"xendcg", "ndcg"},
      {"xe_ndcg", "ndcg"},
      {"xe_ndcg_mart", "ndcg"},
      {"xendcg_mart", "ndcg"},
      {"mean_average_precision", "map"}};
  const auto found = aliases.find(name);
  return std::string(found == aliases.end() ? std::string_view(name) : found->second);
}

bool IsOfClasses(const std::string& name) { return name.starts_with("multi_") || name == "auc_mu"; }

// A metric's labels may be those of validation data, which no objective has seen.
Status CheckLabels(const std::string& name, const TreeParameters& p, const TreeDataset& data) {
  const bool shares = name.starts_with("cross_entropy") || name == "kullback_leibler";
  const bool classes = IsOfClasses(name) || (name == "accuracy" && p.num_class > 1);
  if (!shares && !classes) return {};
  for (size_t row = 0; row < data.rows(); ++row) {
    const float label = data.labels[row];
    if (shares
            ? label >= 0 && label <= 1
            : label >= 0 && label < static_cast<float>(p.num_class) && label == std::floor(label)) {
      continue;
    }
    return Invalid(fmt::format(
        "metric = {} needs {}: row {} has {}", name,
        shares ? std::string("labels from 0 to 1")
               : fmt::format("whole labels from 0 to {} (num_class - 1)", p.num_class - 1),
        data.share.first_row() + row + 1, label));
  }
  return {};
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
  return Invalid(fmt::format(
      "metric = cross_entropy_lambda needs weights above 0: row {} has {}",
      data.share.first_row() + static_cast<uint64_t>(wrong - data.weights.begin()) + 1, *wrong));
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
    const std::string name = CanonicalName(asked);
    if (name == "none" || name == "null" || name == "na" || name == "custom") continue;
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
    if (metric == nullptr) {
      return Invalid(fmt::format(
          "metric = {}: not known: expected some of l1, l2, rmse, quantile, huber, fair, poisson, "
          "mape, gamma, gamma_deviance, tweedie, binary_logloss, binary_error, cross_entropy, "
          "cross_entropy_lambda, kullback_leibler, auc, average_precision, multi_logloss, "
          "multi_error, auc_mu, accuracy, ndcg, map, none",
          asked));
    }
    if (name != "accuracy" && IsOfClasses(name) != (p.num_class > 1)) {
      return Invalid(fmt::format("metric = {} does not fit objective = {} with num_class = {}",
                                 asked, p.objective, p.num_class));
    }
    STRATA_TRY(CheckLabels(name, p, data));
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace strata
