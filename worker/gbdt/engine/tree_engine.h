// TreeEngine: where trees grow, and with which of a round's work besides: `device` = cpu or cuda.
// All engines make the same trees, to the bit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread/work_pool.h"
#include "cluster/collective/group.h"
#include "kernels/tree/gradient/exact_sum.h"
#include "kernels/tree/grow/gpu_trees.h"
#include "kernels/tree/grow/grown_tree.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/engine/quantise.h"
#include "worker/gbdt/objective/objective.h"
#include "worker/gbdt/parameters/growth_parameters.h"
#include "worker/gbdt/parameters/machine_parameters.h"
#include "worker/gbdt/phase_times.h"

namespace strata {

// A tree as an engine hands it over; good until the engine's next call.
struct EngineTree {
  const GrownTree* tree = nullptr;
  GradientUnits units = {};  // of its sums
  uint64_t not_finite = 0;   // gradients that were not, and counted as 0
};

// Rounds whose gradients and scores stay where the trees grow, so that the host sees trees alone.
struct OwnRounds {
  OwnLoss loss;
  std::span<const float> weights;  // empty: all 1
  QuantiseOptions quantise;
  // Unless empty, gradients are always of these, one of each class.
  std::span<const double> fixed_scores = {};
};

// One thread at a time.
class TreeEngine {
 public:
  virtual ~TreeEngine() = default;

  // A tree for the rows of `bag`, which ascend, of gradients by row; with its leaves' rows where
  // `with_rows`. `tree_number` seeds what is random. kLost: a rank is.
  virtual Result<EngineTree> Grow(const FixedGradients& gradients, const GradientUnits& units,
                                  std::span<const uint32_t> bag, uint64_t tree_number,
                                  bool with_rows) = 0;

  // The GPU on which other data's scores can be kept up with its trees.
  virtual std::optional<int> gpu() const { return std::nullopt; }

  // Begins to keep scores, which begin as these, class * rows + row; false: the engine does not.
  virtual Result<bool> KeepScores(const OwnRounds& /*rounds*/, std::span<const double> /*scores*/) {
    return false;
  }
  // With scores kept: gradients of all classes from them, and the rows that their trees grow with.
  virtual Status StartRound(uint64_t /*round*/, const GpuSample& /*sample*/) {
    return Failed("this engine keeps no scores");
  }
  // A tree of class k, from the round's gradients.
  virtual Result<EngineTree> GrowFromScores(size_t /*k*/, uint64_t /*tree_number*/) {
    return Failed("this engine keeps no scores");
  }
  // With scores kept: adds the values of the leaves to the rows in them, of class k; where they
  // are.
  virtual Status AddToScores(size_t /*k*/, const GrownTree& /*tree*/,
                             std::span<const double> /*values*/) {
    return Failed("this engine keeps no scores");
  }
  // With scores kept, of the tree of class k that has just grown: outputs of its leaves as the
  // objective renews them; and the sums of their gradients.
  virtual Result<std::vector<double>> RenewLeaves(size_t /*k*/, const GrownTree& /*tree*/) {
    return Failed("this engine keeps no scores");
  }
  virtual Result<std::vector<ExactSlopes>> SumLeaves(size_t /*k*/, const GrownTree& /*tree*/) {
    return Failed("this engine keeps no scores");
  }
  virtual Status FetchScores(std::span<double> /*scores*/) {
    return Failed("this engine keeps no scores");
  }
  // Those of all rows in the memory of gpu(), good until they change. kRefused: they are not there,
  // and there is too little for a copy.
  virtual Result<const double*> ScoresOnGpu() { return Failed("this engine keeps no scores"); }
};

struct EngineOptions {
  const GrowthParameters& growth;
  const MachineParameters& machine;
  size_t threads = 1;                   // of the pool
  PhaseTimes* phases = nullptr;         // unless null, hears what the time goes to
  Group* group = nullptr;               // unless null, its ranks grow trees together
  size_t classes = 1;                   // whose trees a round adds
  int64_t levels = 0;                   // no gradient is stored as a larger integer
  bool renews_leaves = false;           // SumLeaves will be called
  std::string_view forced_splits = {};  // the text of forcedsplits_filename, where that is given
};

// As the options say; what they refer to, the data and the pool outlive it. kNotFound: there is no
// such GPU; kRefused: its memory is too small; kInvalid: what a GPU does not do. With device = auto
// the CPU takes over then.
Result<std::unique_ptr<TreeEngine>> MakeTreeEngine(const TreeDataset& data, WorkPool& pool,
                                                   const EngineOptions& options);

}  // namespace strata
