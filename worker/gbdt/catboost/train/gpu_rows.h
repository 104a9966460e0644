// GpuRows: rows of a training whose raw values stay in a GPU's memory, where trees grow from them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/oblivious/gpu_oblivious.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/leaf_steps.h"

namespace strata {

// Bits are those of the CPU. One thread at a time. Calls fail as a GPU does.
class GpuRows : public TriedRows {
 public:
  // Whether trainings with these parameters can leave their rows there: there is one output, whose
  // leaves have steps, splits go by weights, and the loss is the one metric of the rows to learn
  // from.
  static bool MayStay(const FitParameters& parameters);

  // Copies the rows, whose raw values all begin with `start`. All outlive it. `l2` is added to the
  // weights of leaves.
  static Result<std::unique_ptr<GpuRows>> Make(const FitParameters& parameters, double l2,
                                               const FitRows& rows, double start, WorkPool& pool,
                                               GpuOblivious& gpu);

  Result<LeafStep> Step() override;
  Result<double> MeanLoss() override;
  Status Try(std::span<const double> step) override { return gpu_.TryStep(step); }
  Result<double> TriedLoss() override;
  void Keep() override { gpu_.KeepStep(); }

  // Of each leaf of the tree the sum of its rows' weights.
  Result<std::vector<double>> LeafWeights() { return gpu_.SumLeafWeights(); }
  // Adds the values of a tree's leaves to the raw values of their rows.
  Status AddValues(std::span<const double> values) { return gpu_.AddValues(values); }

 private:
  GpuRows(const FitParameters& parameters, double l2, const FitRows& rows, GpuOblivious& gpu)
      : p_(parameters), l2_(l2), rows_(rows), gpu_(gpu) {}

  const FitParameters& p_;
  const double l2_;
  const FitRows& rows_;
  GpuOblivious& gpu_;
};

}  // namespace strata
