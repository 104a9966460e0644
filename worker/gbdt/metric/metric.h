// TreeMetric: how good scores are on one data set, by LightGBM's names and formulas.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/metric/gpu_metrics.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/parameters/metric_parameters.h"
#include "worker/gbdt/parameters/objective_parameters.h"

namespace strata {

struct MetricValue {
  std::string name;  // "auc", "ndcg@5"
  double value = 0;
  bool higher_is_better = false;
  bool decides = true;  // the last value of its metric: what early stopping looks at
};

// A data set's metrics after a round.
struct Evaluation {
  std::string data;  // "training", "valid_1"
  std::vector<MetricValue> metrics;
};

// Of one data set, which outlives it, as does the pool whose threads it works on: values are the
// same for any number of them.
class TreeMetric {
 public:
  virtual ~TreeMetric() = default;
  // Scores are raw, class * rows + row. The value is that of all ranks' rows (RowShare:
  // collective).
  virtual std::vector<MetricValue> Evaluate(std::span<const double> scores) const = 0;

  // The same from scores on a GPU, which has this data set, all of it: memory for it there, once,
  // and the values.
  virtual Status MoveToGpu(GpuMetrics* gpu) = 0;
  virtual Result<std::vector<MetricValue>> EvaluateOnGpu(GpuMetrics& gpu,
                                                         const double* scores) const = 0;
};

// What the parameters name, or what belongs to the objective. kInvalid: a metric that is
// not known, or does not fit the objective or the data.
Result<std::vector<std::unique_ptr<TreeMetric>>> MakeMetrics(const MetricParameters& parameters,
                                                             const ObjectiveParameters& objective,
                                                             const TreeDataset& data,
                                                             WorkPool& pool);

}  // namespace strata
