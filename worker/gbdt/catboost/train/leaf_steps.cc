#include "worker/gbdt/catboost/train/leaf_steps.h"

#include <utility>

#include "worker/gbdt/catboost/train/monotone_leaves.h"

namespace strata {
namespace {

// Moves a step where it leads to values that do not fall along directed splits.
void BindStep(std::span<const int8_t> directions, std::span<const double> from, LeafStep* step) {
  std::vector<double> values(from.begin(), from.end());
  for (size_t leaf = 0; leaf < values.size(); ++leaf) values[leaf] += step->values[leaf];
  MonotoneLeaves(directions).Project(step->weights, values);
  for (size_t leaf = 0; leaf < values.size(); ++leaf) {
    step->values[leaf] = values[leaf] - from[leaf];
  }
}

std::vector<double> Scaled(const std::vector<double>& step, double scale) {
  std::vector<double> scaled = step;
  for (double& value : scaled) value *= scale;
  return scaled;
}

}  // namespace

LeafStep StepOf(std::vector<double> gradients, std::vector<double> weights, double l2) {
  for (size_t leaf = 0; leaf < gradients.size(); ++leaf) {
    weights[leaf] += l2;
    gradients[leaf] = weights[leaf] > 0 ? gradients[leaf] / weights[leaf] : 0;
  }
  return {.values = std::move(gradients), .weights = std::move(weights)};
}

Result<std::vector<double>> StepLeaves(const FitParameters& parameters, size_t iterations,
                                       std::span<const int8_t> directions, size_t values,
                                       TriedRows& rows) {
  std::vector<double> sum(values);
  const bool checked = parameters.backtracking && iterations > 1;
  double loss = 0;
  if (checked) {
    STRATA_ASSIGN(loss, rows.MeanLoss());
  }
  for (size_t used = 0; used < iterations; ++used) {
    STRATA_ASSIGN(LeafStep step, rows.Step());
    if (!directions.empty()) BindStep(directions, sum, &step);
    double scale = 1;
    for (; checked && used < iterations; ++used) {
      STRATA_TRY(rows.Try(Scaled(step.values, scale)));
      STRATA_ASSIGN(const double tried, rows.TriedLoss());
      if (tried < loss) {
        loss = tried;
        break;
      }
      scale /= 2;
    }
    if (used == iterations) break;
    for (size_t i = 0; i < values; ++i) sum[i] += scale * step.values[i];
    if (used + 1 == iterations) break;
    if (!checked) STRATA_TRY(rows.Try(step.values));
    rows.Keep();
  }
  return sum;
}

}  // namespace strata
