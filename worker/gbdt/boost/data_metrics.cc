#include "worker/gbdt/boost/data_metrics.h"

#include <utility>

#include "base/log.h"

namespace strata {
namespace {

// One metric's values, of which the last one decides.
void Append(std::vector<MetricValue> values, std::vector<MetricValue>* all) {
  for (MetricValue& value : values) {
    value.decides = &value == &values.back();
    all->push_back(std::move(value));
  }
}

}  // namespace

Result<DataMetrics> DataMetrics::Make(const MetricParameters& parameters,
                                      const ObjectiveParameters& objective, const TreeDataset& data,
                                      WorkPool& pool) {
  STRATA_ASSIGN(std::vector<std::unique_ptr<TreeMetric>> metrics,
                MakeMetrics(parameters, objective, data, pool));
  return DataMetrics(data, std::move(metrics));
}

void DataMetrics::MoveToGpu(int gpu, const std::function<Status()>& also) {
  if (metrics_.empty() || !data_->share.is_whole()) return;
  const Status moved = TryGpu(gpu, also);
  if (moved.ok()) return;
  gpu_ = nullptr;
  Log(LogLevel::kInfo, "metrics are computed on the CPU: {}", moved.message());
}

Status DataMetrics::TryGpu(int gpu, const std::function<Status()>& also) {
  STRATA_ASSIGN(gpu_, GpuMetrics::Open(gpu, {.labels = data_->labels,
                                             .weights = data_->weights,
                                             .query_begins = data_->query_begins}));
  for (const auto& metric : metrics_) STRATA_TRY(metric->MoveToGpu(gpu_.get()));
  return also == nullptr ? Status::Ok() : also();
}

Result<std::vector<MetricValue>> DataMetrics::Measure(std::span<const double> scores,
                                                      double divisor) const {
  std::vector<double> divided;
  if (divisor != 1) {
    divided.assign(scores.begin(), scores.end());
    for (double& score : divided) score /= divisor;
    scores = divided;
  }
  std::vector<MetricValue> all;
  for (const auto& metric : metrics_) Append(metric->Evaluate(scores), &all);
  return all;
}

Result<std::vector<MetricValue>> DataMetrics::MeasureOnGpu(const double* scores, size_t count,
                                                           double divisor) const {
  if (divisor != 1) {
    STRATA_ASSIGN(scores, gpu_->Divided(scores, count / data_->rows(), divisor));
  }
  std::vector<MetricValue> all;
  for (const auto& metric : metrics_) {
    STRATA_ASSIGN(std::vector<MetricValue> values, metric->EvaluateOnGpu(*gpu_, scores));
    Append(std::move(values), &all);
  }
  return all;
}

}  // namespace strata
