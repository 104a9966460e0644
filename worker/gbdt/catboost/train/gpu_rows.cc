#include "worker/gbdt/catboost/train/gpu_rows.h"

#include <utility>

#include "worker/gbdt/catboost/train/fit_losses.h"
#include "worker/gbdt/catboost/train/grow/fixed_rows.h"
#include "worker/gbdt/catboost/train/leaf_values.h"

namespace strata {

bool GpuRows::MayStay(const FitParameters& parameters) {
  const bool goes_by_weights =
      parameters.score == ScoreFunction::kCosine || parameters.score == ScoreFunction::kL2;
  const bool measures_loss =
      !parameters.eval_metric.has_value() || parameters.eval_metric->kind == MetricKind::kAuc;
  return !IsMultiClass(parameters.loss.type) && parameters.leaf_method != LeafMethod::kExact &&
         goes_by_weights && measures_loss && parameters.shrink.rate == 0;
}

Result<std::unique_ptr<GpuRows>> GpuRows::Make(const FitParameters& parameters, double l2,
                                               const FitRows& rows, double start, WorkPool& pool,
                                               GpuOblivious& gpu) {
  const std::vector<double> weights(rows.weights.begin(), rows.weights.end());
  STRATA_TRY(gpu.SetRows({.labels = rows.labels,
                          .weights = rows.weights,
                          .weight_unit = FindWeightUnit(weights, pool),
                          .loss = ObliviousLossOf(parameters.loss),
                          .start = start}));
  return std::unique_ptr<GpuRows>(new GpuRows(parameters, l2, rows, gpu));
}

Result<LeafStep> GpuRows::Step() {
  STRATA_ASSIGN(LeafSums sums, gpu_.SumLeaves());
  if (p_.leaf_method == LeafMethod::kNewton) {
    return StepOf(std::move(sums.first), std::move(sums.second), l2_);
  }
  STRATA_ASSIGN(std::vector<double> weights, gpu_.SumLeafWeights());
  return StepOf(std::move(sums.first), std::move(weights), l2_);
}

Result<double> GpuRows::MeanLoss() {
  STRATA_ASSIGN(const double sum, gpu_.SumLosses());
  return LossOfSum(p_.loss, sum, rows_);
}

Result<double> GpuRows::TriedLoss() {
  STRATA_ASSIGN(const double sum, gpu_.SumTriedLosses());
  return LossOfSum(p_.loss, sum, rows_);
}

}  // namespace strata
