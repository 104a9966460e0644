// GpuTrees: boosted trees on one GPU, or on several of one machine, each of which has a part of the
// rows. The training data's bins, scores and gradients stay in their memory; a tree grows there
// without asking the host, and is handed over once it is done. Leaf by leaf it is the tree that the
// CPU's grower makes of the same fixed-point gradients, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/status.h"
#include "kernels/tree/bin_matrix.h"
#include "kernels/tree/fixed_point.h"
#include "kernels/tree/gpu_bins.h"
#include "kernels/tree/grown_tree.h"
#include "kernels/tree/growth.h"
#include "kernels/tree/losses.h"

namespace strata {

struct GpuTreeOptions {
  SplitRules rules;
  size_t num_leaves = 31;
  size_t max_depth = 0;  // 0: no bound
  GrowPolicy policy = GrowPolicy::kLossGuide;
  double monotone_penalty = 0;
  double feature_fraction_bynode = 1;  // of a node, among those of the tree
  uint64_t feature_seed = 2;
  bool extra_trees = false;
  uint64_t extra_seed = 6;
  size_t classes = 1;  // of scores
};

// The most leaves of a tree.
constexpr size_t kGpuLeavesMax = 4096;

// Losses of one row that a GPU computes gradients of.
using GpuLoss = std::variant<loss::SquaredError, loss::AbsoluteError, loss::Huber, loss::Fair,
                             loss::Poisson, loss::Quantile, loss::AbsolutePercentageError,
                             loss::Gamma, loss::Tweedie, loss::BinaryLogistic, loss::CrossEntropy>;

// How gradients become integers: worker/gbdt's QuantiseOptions.
struct GpuRounding {
  GradientWidth width = GradientWidth::k16;
  int64_t bins = 0;  // levels; 0: as fine as the width allows
  uint64_t seed = 0;
  bool stochastic = true;  // of 16 bits; false: to the nearest
};

// Which rows a tree grows with: all, or those whose number drawn from the seed is below the share.
struct GpuBag {
  double share = 1;
  uint64_t seed = 0;
};

// Milliseconds of a tree by phase, of the last Grow that was timed.
struct GpuTreeTimes {
  double choose = 0;
  double partition = 0;
  double histogram = 0;
  double search = 0;
  double meetings = 0;  // of several GPUs, and adding up each other's histograms
  size_t steps = 0;
  size_t splits = 0;  // those that turned out not to be needed among them
};

// One thread at a time.
class GpuTrees {
 public:
  virtual ~GpuTrees() = default;

  // Copies the bins, or goes on with those that the one GPU has `made` of the same data, whatever
  // the shapes allowed then; each GPU takes its part of the rows; of fewer rows than GPUs the last
  // ones have none and are left out. kNotFound: no such GPU, or a build without CUDA; kRefused: too
  // little memory, or more leaves than kGpuLeavesMax; kFailed: GPUs that do not reach each other's
  // memory.
  static Result<std::unique_ptr<GpuTrees>> Open(std::span<const int> devices, const BinMatrix& bins,
                                                std::span<const FeatureShape> shapes,
                                                const GpuTreeOptions& options,
                                                const std::shared_ptr<const GpuBins>& made = {});

  // --- Gradients of the next tree. ---

  // Of all rows of the data, and the rows of its bag, which ascend.
  virtual Status SetGradients(const FixedGradients& by_row, const GradientUnits& units,
                              std::span<const uint32_t> bag) = 0;
  // From the scores of class k; `tree_number` seeds the rounding. How many were not finite, and
  // count as 0, is what Grow returns.
  virtual Status ComputeGradients(size_t k, const GpuLoss& loss, const GpuRounding& rounding,
                                  uint64_t tree_number, const GpuBag& bag) = 0;

  // --- Scores, class * rows + row. ---

  // Weights empty: all 1.
  virtual Status SetLabels(std::span<const float> labels, std::span<const float> weights) = 0;
  virtual Status SetScores(std::span<const double> scores) = 0;
  virtual Status GetScores(std::span<double> scores) = 0;
  // Adds to each row's score of class k the value of its leaf.
  virtual Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) = 0;

  // --- Trees. ---

  // Grows a tree; `feature_used`: of each feature, whether it may be split by. Waits for it. Rows
  // are left out of the result. Returns how many gradients were not finite.
  virtual Result<uint64_t> Grow(std::span<const uint8_t> feature_used, uint64_t tree_number,
                                GrownTree* tree) = 0;
  // Puts the rows of the last tree into it, leaf by leaf, ascending.
  virtual Status FetchRows(GrownTree* tree, std::vector<uint32_t>* rows) = 0;
  // What the gradients of the last tree were counted in.
  virtual const GradientUnits& units() const = 0;

  // From now on, each kernel of Grow is timed by itself, which takes longer.
  virtual void TimePhases(bool on) = 0;
  virtual const GpuTreeTimes& times() const = 0;
};

}  // namespace strata
