// LeafWiseGrower: grows a tree by splitting one leaf after the other, the largest gain first
// (LightGBM's serial_tree_learner), of all leaves or of those of a level.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/grow/growth.h"
#include "worker/gbdt/grower/best_first.h"
#include "worker/gbdt/grower/bin_bounds.h"
#include "worker/gbdt/grower/exchange.h"
#include "worker/gbdt/grower/leaf_work.h"
#include "worker/gbdt/grower/monotone_neighbours.h"
#include "worker/gbdt/phase_times.h"

namespace strata {

// A split that trees begin with, whatever others gain.
struct ForcedSplit {
  size_t feature = 0;
  uint32_t bin = 0;   // numbers up to it go left, or this category
  int32_t left = -1;  // the forced split of the left child; -1: none
  int32_t right = -1;
  std::string text = {};  // which it is, for messages
};

struct GrowerOptions {
  SplitRules rules;
  size_t num_leaves = 31;
  size_t max_depth = 0;  // 0: no bound
  GrowPolicy policy = GrowPolicy::kLossGuide;
  MonotoneMethod monotone_method = MonotoneMethod::kBasic;  // no other with voting
  double monotone_penalty = 0;
  // The root's first; fewer than num_leaves. One that gains nothing or leaves a side without rows
  // ends forcing: it and those behind it, level by level, are left out (as LightGBM has it).
  std::vector<ForcedSplit> forced;
  // Unless empty, is called when one ends forcing in a tree, with its number and the reason.
  std::function<void(size_t forced, std::string_view why)> unmade;
  double feature_fraction = 1;         // of a tree
  double feature_fraction_bynode = 1;  // of a node, among those of the tree
  uint64_t feature_seed = 2;
  bool extra_trees = false;
  uint64_t extra_seed = 6;
  size_t threads = 1;  // of the pool, the calling one included
  PhaseTimes* phases = nullptr;
  GpuLeaves* gpu = nullptr;  // unless null, has rows and histograms in place of the pool
};

// One thread at a time; works on all of the pool's.
class LeafWiseGrower {
 public:
  // `bins`, `pool` and `exchange` outlive it.
  LeafWiseGrower(const BinMatrix& bins, std::vector<FeatureShape> shapes,
                 const GrowerOptions& options, WorkPool& pool, Exchange& exchange);

  // A tree for the rows of `bag`, which ascend. `tree_number` seeds what is random. The result is
  // good until the next call; worth nothing once the exchange has lost a rank. All ranks of the
  // exchange call it together.
  const GrownTree& Grow(const FixedGradients& gradients, const GradientUnits& units,
                        std::span<const uint32_t> bag, uint64_t tree_number);
  // Whether the GPU, where there is one, is well; if not, the last tree is worth nothing.
  const Status& status() const { return work_.status(); }

 private:
  using Histogram = std::vector<GradientSums>;

  struct OpenLeaf {
    Split best;
    uint64_t path = 0;                     // RootPath, ChildPath
    uint64_t interactions = ~uint64_t{0};  // those of all features above it
    std::unique_ptr<Histogram> histogram;
    // By feature. One with no split in a leaf is not tried below it: so does LightGBM, and a child
    // has fewer rows.
    std::vector<uint8_t> is_splittable;
  };

  // Two children that are searched together.
  struct Children {
    size_t smaller;
    size_t larger;  // the same: the root, alone

    bool is_root() const { return smaller == larger; }
  };

  // Rows of leaves that are partitioned.
  struct Lefts {
    std::vector<int64_t> here;
    std::vector<int64_t> of_all;  // ranks
  };

  // A leaf's search for its best split.
  struct Target {
    size_t leaf;
    const Children* first_of;  // null: the sibling is before it
    std::span<GradientSums> histogram;
    std::vector<uint8_t> searched;  // of each feature
    Split best;
  };

  void ChooseFeatures();
  bool ComesBefore(size_t a, size_t b) const;
  void StartRoot();
  void SumOverRanks(std::span<int64_t> numbers);
  size_t LeavesAtATime() const;
  std::vector<size_t> NextLeaves() const;
  KnownTree Known(std::vector<const Split*>* best) const;
  void TakeBestFirst();
  void SplitLeaves(std::span<const size_t> leaves);
  Lefts PartitionLeaves(std::span<const size_t> leaves);
  void TakeSplits(std::span<const size_t> leaves, const Lefts& left);
  size_t SplitLeafAt(size_t leaf, size_t left, int64_t left_of_all);
  void Search(std::span<const Children> pairs, std::span<const size_t> again);
  void BoundSides(const Split& split, GrownLeaf* left, GrownLeaf* right) const;
  std::vector<size_t> BoundOthers();
  bool TakeHistograms(const Children& children);
  bool BuildsWhole() const;
  void BuildHistograms(std::span<const LeafHistogram> leaves);
  void ForceSplits();
  std::vector<GradientSums> ForcedHistogram(const ForcedSplit& forced, size_t leaf);
  void NeedHistogram(size_t leaf);
  Target TargetOf(size_t leaf, const Children* first_of) const;
  void Complete(const Children& children, size_t feature);
  void SelectFeatures(std::span<Target> targets);
  void SearchFeatures(std::span<Target> targets, bool completed);
  Split SearchFeature(size_t feature, size_t leaf, std::span<const GradientSums> histogram);
  std::vector<uint8_t> FeaturesOf(size_t leaf) const;
  bool CanSplit(size_t leaf) const;
  std::unique_ptr<Histogram> TakeHistogram();

  const BinMatrix& bins_;
  const std::vector<FeatureShape> shapes_;
  const GrowerOptions options_;
  WorkPool& pool_;
  Exchange& exchange_;

  GradientUnits units_;
  uint64_t tree_number_ = 0;
  GrownTree tree_;
  std::vector<GrownLeaf> split_leaves_;  // of each node: the leaf that it was
  size_t forced_nodes_ = 0;              // the first ones of the tree
  std::vector<OpenLeaf> open_;           // of each leaf
  LeafWork work_;
  std::optional<BinBounds> bin_bounds_;  // of kAdvanced alone
  std::vector<uint8_t> tree_features_;   // of each: whether the tree may use it
  size_t features_of_node_ = 0;          // how many of those a node may use
  std::vector<uint8_t> feature_used_;    // by this rank, in this tree
  std::vector<uint8_t> block_used_;      // has a feature that is
  std::vector<std::unique_ptr<Histogram>> free_;
};

}  // namespace strata
