// The families of metrics, for MakeMetrics. Each returns null for a name that it does not have.
#pragma once

#include <memory>
#include <string>

#include "worker/gbdt/metric/metric.h"

namespace strata {

// Means over rows: l2, rmse, r2 (the share of the labels' squares that is explained), l1, quantile,
// huber, fair, poisson, mape, gamma, gamma_deviance, tweedie, binary_logloss, binary_error,
// cross_entropy, cross_entropy_lambda, kullback_leibler, multi_logloss, multi_error, accuracy
// (ours: the share of rows that neither binary_error nor multi_error counts); of gamma_deviance the
// sum.
std::unique_ptr<TreeMetric> MakeRowMetric(const std::string& name,
                                          const MetricParameters& parameters,
                                          const ObjectiveParameters& objective,
                                          const TreeDataset& data, WorkPool& pool);
// auc, average_precision, auc_mu.
std::unique_ptr<TreeMetric> MakeCurveMetric(const std::string& name,
                                            const MetricParameters& parameters,
                                            const ObjectiveParameters& objective,
                                            const TreeDataset& data, WorkPool& pool);
// ndcg, map. kInvalid: no queries, labels without a gain.
Result<std::unique_ptr<TreeMetric>> MakeRankMetric(const std::string& name,
                                                   const MetricParameters& parameters,
                                                   const ObjectiveParameters& objective,
                                                   const TreeDataset& data, WorkPool& pool);

}  // namespace strata
