// DataMetrics: the metrics of one data set, computed on the host or on the GPU that has its scores.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/metric/gpu_metrics.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/metric/metric.h"

namespace strata {

// One thread at a time. Scores are raw, class * rows + row; values are those of all ranks' rows,
// and of the scores divided by `divisor`.
class DataMetrics {
 public:
  // As MakeMetrics; the data and the pool outlive it.
  static Result<DataMetrics> Make(const MetricParameters& parameters,
                                  const ObjectiveParameters& objective, const TreeDataset& data,
                                  WorkPool& pool);

  // From now on there are none.
  void Clear() { metrics_.clear(); }
  // From now on they are computed on this GPU, if its memory allows it and `also` is OK then; else
  // on the host as before, which the log says. Those of several ranks' rows stay.
  void MoveToGpu(int gpu, const std::function<Status()>& also = nullptr);
  bool on_gpu() const { return gpu_ != nullptr; }

  Result<std::vector<MetricValue>> Measure(std::span<const double> scores, double divisor) const;
  // The same on the GPU, in whose memory that many numbers are.
  Result<std::vector<MetricValue>> MeasureOnGpu(const double* scores, size_t count,
                                                double divisor) const;

 private:
  DataMetrics(const TreeDataset& data, std::vector<std::unique_ptr<TreeMetric>> metrics)
      : data_(&data), metrics_(std::move(metrics)) {}
  Status TryGpu(int gpu, const std::function<Status()>& also);

  const TreeDataset* data_;
  std::vector<std::unique_ptr<TreeMetric>> metrics_;
  std::unique_ptr<GpuMetrics> gpu_;  // null: they are computed on the host
};

}  // namespace strata
