// StepLeaves: the values of a tree's leaves, made of steps that are tried on rows, on either
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

struct LeafStep {
  std::vector<double> values;   // leaf * outputs + output
  std::vector<double> weights;  // of leaves, where there is one output
};

// Of each leaf the gradient by the weight and l2 together; 0 where that is 0.
LeafStep StepOf(std::vector<double> gradients, std::vector<double> weights, double l2);

// The rows of a tree with raw values, from which steps are tried. They begin with those that the
// trees before it have given. One thread at a time.
class TriedRows {
 public:
  virtual ~TriedRows() = default;
  // A step from the values that are tried.
  virtual Result<LeafStep> Step() = 0;
  virtual Result<double> MeanLoss() = 0;
  // Moves the rows by a step, from the values that are tried.
  virtual Status Try(std::span<const double> step) = 0;
  // The mean loss after the last try.
  virtual Result<double> TriedLoss() = 0;
  // The values that are tried are those after the last try.
  virtual void Keep() = 0;
};

// The sum of so many steps, each halved until the loss falls, where there are several and the
// parameters say so. A halving uses up an iteration. `directions` of the tree's splits bind values;
// none: they are free. `values`: of all leaves and outputs.
Result<std::vector<double>> StepLeaves(const FitParameters& parameters, size_t iterations,
                                       std::span<const int8_t> directions, size_t values,
                                       TriedRows& rows);

}  // namespace strata
