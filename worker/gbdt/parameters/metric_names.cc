#include "worker/gbdt/parameters/metric_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace strata {
namespace {

constexpr std::string_view kMetrics[] = {"l1",
                                         "l2",
                                         "rmse",
                                         "r2",
                                         "quantile",
                                         "huber",
                                         "fair",
                                         "poisson",
                                         "mape",
                                         "gamma",
                                         "gamma_deviance",
                                         "tweedie",
                                         "binary_logloss",
                                         "binary_error",
                                         "cross_entropy",
                                         "cross_entropy_lambda",
                                         "kullback_leibler",
                                         "auc",
                                         "average_precision",
                                         "multi_logloss",
                                         "multi_error",
                                         "auc_mu",
                                         "accuracy",
                                         "ndcg",
                                         "map"};
constexpr std::string_view kNone[] = {"none", "null", "na", "custom"};

}  // namespace

std::string CanonicalMetric(std::string_view name) {
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
  return std::string(found == aliases.end() ? name : found->second);
}

bool MeasuresNothing(std::string_view name) { return std::ranges::count(kNone, name) > 0; }

bool IsMetric(std::string_view name) { return std::ranges::count(kMetrics, name) > 0; }

bool IsMetricOfClasses(std::string_view name) {
  return name.starts_with("multi_") || name == "auc_mu";
}

std::string MetricNames() { return fmt::format("{}", fmt::join(kMetrics, ", ")); }

}  // namespace strata
