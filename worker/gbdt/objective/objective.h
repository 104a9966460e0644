// TreeObjective: what boosting minimises: start scores, gradients, and how leaves are renewed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/grow/gpu_trees.h"
#include "kernels/tree/grow/percentile.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/parameters/objective_parameters.h"

namespace strata {

// What is left of a row's label, and what that counts.
struct Residual {
  double value = 0;  // label - score
  double weight = 1;
};

// Gradients for who keeps scores by itself: the loss, labels as it takes them, what it needs of
// queries, and how leaves are renewed, where they are.
struct OwnLoss {
  GpuLoss loss;
  std::span<const float> labels;
  GpuRanking ranking = {};
  std::optional<LeafPercentile> renewal = {};
};

// Scores, gradients and hessians are class * rows + row. Where rows are divided over ranks, making
// one and StartScore are collective (RowShare).
class TreeObjective {
 public:
  virtual ~TreeObjective() = default;
  // How model files name it: "binary sigmoid:1".
  virtual std::string ModelText() const = 0;
  virtual size_t classes() const { return 1; }
  // The constant that fits the class's labels best: what its scores begin with, where
  // boost_from_average has it so, and what they are where no tree can be grown.
  virtual double StartScore(size_t /*k*/) const { return 0; }
  // False: the class's trees are constants (one of two classes never occurs).
  virtual bool NeedsTrees(size_t /*k*/) const { return true; }
  // Of one round, which seeds what is random.
  virtual void Gradients(std::span<const double> scores, uint64_t round, WorkPool& pool,
                         std::span<float> gradients, std::span<float> hessians) const = 0;
  // What makes the same gradients where trees grow; none: Gradients alone does.
  virtual std::optional<OwnLoss> own_loss() const { return std::nullopt; }
  // All hessians are 1, so that sums of them count rows.
  virtual bool hessians_are_one() const { return false; }
  // Losses whose hessian says nothing: leaves get new outputs from their rows' residuals, in the
  // order of the rows, whichever ranks they are on.
  virtual bool renews_outputs() const { return false; }
  virtual std::vector<Residual> Residuals(std::span<const uint32_t> /*rows*/,
                                          std::span<const double> /*scores*/) const {
    return {};
  }
  virtual double RenewedOutput(std::vector<Residual>& /*residuals*/) const { return 0; }
};

// Of the parameters' objective for this data, which outlives it. kInvalid: labels that do not fit
// the objective.
Result<std::unique_ptr<TreeObjective>> MakeObjective(const ObjectiveParameters& parameters,
                                                     const TreeDataset& data);

// The value below which `share` of the values, or of their weights, lie
// (kernels/tree/grow/percentile.h). `values` is reordered; there are as many weights as values, of
// those that `exact` is for.
double PercentileOf(std::vector<double>& values, double share);
double WeightedPercentileOf(std::span<const double> values, std::span<const double> weights,
                            double share, const ExactUnits& exact);

}  // namespace strata
