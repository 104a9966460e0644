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

#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/bins/gpu_bins.h"
#include "kernels/tree/gradient/exact_sum.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/gradient/losses.h"
#include "kernels/tree/gradient/ranking_losses.h"
#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/grow/growth.h"
#include "kernels/tree/grow/percentile.h"
#include "strata/status.h"

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
  // Of computed gradients: SumLeaves is going to be asked for. It takes a little longer.
  bool keeps_rows = false;
  // Where each query's rows begin, and an end, which outlive the trees. Unless empty, a query's
  // rows stay on one GPU.
  std::span<const size_t> query_begins = {};
};

// The most leaves of a tree.
constexpr size_t kGpuLeavesMax = 4096;

// What a GPU computes gradients of.
using GpuLoss = std::variant<loss::SquaredError, loss::AbsoluteError, loss::Huber, loss::Fair,
                             loss::Poisson, loss::Quantile, loss::AbsolutePercentageError,
                             loss::Gamma, loss::Tweedie, loss::BinaryLogistic, loss::CrossEntropy,
                             loss::Softmax, loss::OneVsAll, loss::LambdaRank, loss::XeNdcg>;

// What lambdarank knows besides: the gain of each label, and one over each query's largest DCG.
struct GpuRanking {
  std::span<const double> gains;
  std::span<const double> inverse_max_dcg;
};

// How gradients become integers: worker/gbdt's QuantiseOptions.
struct GpuRounding {
  GradientWidth width = GradientWidth::k16;
  int64_t bins = 0;  // levels; 0: as fine as the width allows
  uint64_t seed = 0;
  bool stochastic = true;  // of 16 bits; false: to the nearest
};

// Rows whose number drawn from the seed is below the share, or, by query, all rows of those whose
// first row's is: worker/gbdt's Bagging.
struct GpuBag {
  double share = 1;
  double positive_share = 1;  // of rows with labels above 0
  uint64_t seed = 0;
  bool by_query = false;

  bool is_all() const { return share >= 1 && positive_share >= 1; }
};

// So many rows of the largest gradients, and so many of the others, whose gradients are multiplied:
// worker/gbdt's Goss.
struct GpuGoss {
  int64_t top = 0;
  int64_t other = 0;  // above 0; with `top` no more than rows
  uint64_t tie_seed = 0;
  uint64_t other_seed = 0;
  float factor = 1;
};

// Which rows the trees of a round grow with.
using GpuSample = std::variant<GpuBag, GpuGoss>;

// Milliseconds of a tree by phase, of the last Grow; but for gradients, if that was timed.
struct GpuTreeTimes {
  double choose = 0;
  double partition = 0;
  double histogram = 0;
  double search = 0;
  double gradients = 0;  // from scores, and their rounding; the round's are in its first tree's
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
  // Those of a round, from the scores of all classes; `round` seeds what is random in the loss.
  // The first round copies the numbers on the host that the loss points at.
  virtual Status ComputeGradients(const GpuLoss& loss, uint64_t round) = 0;
  // Of the gradients that were computed, the rows that the round's trees grow with; all, where this
  // is not called.
  virtual Status Sample(const GpuSample& sample) = 0;
  // The next tree's: those of class k that were computed, as integers; `tree_number` seeds the
  // rounding. How many were not finite, and count as 0, is what Grow returns.
  virtual Status RoundGradients(size_t k, const GpuRounding& rounding, uint64_t tree_number) = 0;

  // --- Scores, class * rows + row. ---

  // Weights empty: all 1. Of lambdarank, `ranking`.
  virtual Status SetLabels(std::span<const float> labels, std::span<const float> weights,
                           const GpuRanking& ranking = {}) = 0;
  virtual Status SetScores(std::span<const double> scores) = 0;
  // From now on, gradients are of one score a class, whatever scores become.
  virtual Status FixScores(std::span<const double> of_classes) = 0;
  virtual Status GetScores(std::span<double> scores) = 0;
  // Those of all rows in the memory of the first GPU, good until they change: where they are, or,
  // of several GPUs, a copy. Waits for them. kRefused: there is no memory for the copy.
  virtual Result<const double*> ScoresOnFirst() = 0;
  // Adds to each row's score of class k the value of its leaf.
  virtual Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) = 0;

  // --- Outputs of leaves, of the tree that the last Grow has made from computed gradients. ---

  // Once, before the first LeafPercentiles: a copy of all rows' labels and weights on the first
  // GPU, and memory to sort them. kRefused: there is too little, or more than 2^31 - 2 rows.
  virtual Status StartPercentiles(const LeafPercentile& what, std::span<const float> labels,
                                  std::span<const float> weights) = 0;
  // Of each leaf, the percentile of what its rows' labels are above the scores of class k that
  // gradients were computed of. On the first GPU; others send it their scores and rows' leaves.
  virtual Result<std::vector<double>> LeafPercentiles(size_t k, const GrownTree& tree) = 0;
  // Of each leaf, the sums of class k's computed gradients.
  virtual Result<std::vector<ExactSlopes>> SumLeaves(size_t k, const GrownTree& tree) = 0;

  // --- Trees. ---

  // Grows a tree; `feature_used`: of each feature, whether it may be split by. Waits for it. Rows
  // are left out of the result. Returns how many gradients were not finite.
  virtual Result<uint64_t> Grow(std::span<const uint8_t> feature_used, uint64_t tree_number,
                                GrownTree* tree) = 0;
  // Puts the rows of the last tree into it, leaf by leaf, ascending. Its gradients were set.
  virtual Status FetchRows(GrownTree* tree, std::vector<uint32_t>* rows) = 0;
  // What the gradients of the last tree were counted in.
  virtual const GradientUnits& units() const = 0;

  // From now on, each kernel of Grow is timed by itself, which takes longer.
  virtual void TimePhases(bool on) = 0;
  virtual const GpuTreeTimes& times() const = 0;
};

}  // namespace strata
