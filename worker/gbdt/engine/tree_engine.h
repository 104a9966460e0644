// TreeEngine: where trees grow: `device` = cpu or cuda. Engines that grow trees of one shape
// (grow_policy) make the same trees, to the bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread/work_pool.h"
#include "cluster/collective/group.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/grow/grown_tree.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
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

class ScoreEngine;

// One thread at a time.
class TreeEngine {
 public:
  virtual ~TreeEngine() = default;

  // A tree for the rows of `bag`, which ascend, of gradients by row; with its leaves' rows where
  // `with_rows`. `tree_number` seeds what is random. kLost: a rank is.
  virtual Result<EngineTree> Grow(const FixedGradients& gradients, const GradientUnits& units,
                                  std::span<const uint32_t> bag, uint64_t tree_number,
                                  bool with_rows) = 0;

  // Itself, if it can keep scores where its trees grow; null: it grows trees alone.
  virtual ScoreEngine* score_engine() { return nullptr; }
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
