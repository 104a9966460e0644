#include "worker/gbdt/grower/grower.h"

#include <algorithm>
#include <array>

#include "kernels/tree/histogram/histogram.h"
#include "kernels/tree/split/node_draw.h"
#include "worker/gbdt/grower/feature_choice.h"

namespace strata {
namespace {

// Pieces of a search: several a thread, because features have more and fewer bins.
constexpr size_t kSearchesPerThread = 4;

}  // namespace

LeafWiseGrower::LeafWiseGrower(const BinMatrix& bins, std::vector<FeatureShape> shapes,
                               const GrowerOptions& options, WorkPool& pool, Exchange& exchange)
    : bins_(bins),
      shapes_(std::move(shapes)),
      options_(options),
      pool_(pool),
      exchange_(exchange),
      work_(bins, shapes_, pool, options.threads, options.gpu) {
  if (options.monotone_method == MonotoneMethod::kAdvanced) {
    bin_bounds_.emplace(bins, shapes_, pool);
  }
}

const GrownTree& LeafWiseGrower::Grow(const FixedGradients& gradients, const GradientUnits& units,
                                      std::span<const uint32_t> bag, uint64_t tree_number) {
  units_ = units;
  tree_number_ = tree_number;
  {
    const PhaseScope scope(options_.phases, TreePhase::kPartition);
    work_.Start(bag, gradients);
  }
  ChooseFeatures();
  StartRoot();
  ForceSplits();
  for (std::vector<size_t> next = NextLeaves(); !next.empty(); next = NextLeaves()) {
    SplitLeaves(next);
  }
  for (OpenLeaf& leaf : open_) {
    if (leaf.histogram != nullptr) free_.push_back(std::move(leaf.histogram));
  }
  work_.Settle(tree_.leaves);
  if (LeavesAtATime() > 1) TakeBestFirst();
  tree_.rows = work_.settled();
  return tree_;
}

// One where what a split changes is not among its children alone.
size_t LeafWiseGrower::LeavesAtATime() const {
  return options_.monotone_method == MonotoneMethod::kBasic ? exchange_.leaves_at_a_time() : 1;
}

// The first is the one that comes next; others come unless children of those before gain more.
std::vector<size_t> LeafWiseGrower::NextLeaves() const {
  std::vector<size_t> next;
  if (LeavesAtATime() > 1) {
    std::vector<const Split*> best;
    for (const int32_t id : BestFirstOrder(Known(&best), options_.num_leaves - 1)) {
      if (id < 0) next.push_back(static_cast<size_t>(~id));
      if (next.size() == LeavesAtATime()) break;
    }
    return next;
  }
  if (tree_.leaves.size() >= options_.num_leaves) return next;
  size_t best = 0;
  for (size_t leaf = 1; leaf < open_.size(); ++leaf) {
    if (ComesBefore(leaf, best)) best = leaf;
  }
  if (open_[best].best.exists()) next.push_back(best);
  return next;
}

KnownTree LeafWiseGrower::Known(std::vector<const Split*>* best) const {
  for (const OpenLeaf& leaf : open_) best->push_back(&leaf.best);
  return {.tree = tree_,
          .before = split_leaves_,
          .best = *best,
          .policy = options_.policy,
          .forced = forced_nodes_};
}

// Leaves what was split ahead in vain out of the tree.
void LeafWiseGrower::TakeBestFirst() {
  std::vector<const Split*> best;
  std::vector<size_t> merged;
  const KnownTree known = Known(&best);
  tree_ = TakeInOrder(known, BestFirstOrder(known, options_.num_leaves - 1), &merged);
  pool_.Run(merged.size(), [&](size_t i) {
    const GrownLeaf& leaf = tree_.leaves[merged[i]];
    work_.Ascend(leaf.begin, leaf.count);
  });
}

bool LeafWiseGrower::ComesBefore(size_t a, size_t b) const {
  const Split& x = open_[a].best;
  const Split& y = open_[b].best;
  if (options_.policy == GrowPolicy::kDepthWise && x.exists() && y.exists()) {
    const size_t depth = tree_.leaves[a].depth;
    const size_t other = tree_.leaves[b].depth;
    if (depth != other) return depth < other;
  }
  return IsBetter(x, y);
}

void LeafWiseGrower::ChooseFeatures() {
  tree_features_ = FeaturesOfTree(bins_.features(), options_.feature_fraction,
                                  options_.feature_seed, tree_number_);
  features_of_node_ = ShareOfFeatures(static_cast<size_t>(std::ranges::count(tree_features_, 1)),
                                      options_.feature_fraction_bynode);
  feature_used_ = tree_features_;
  exchange_.StartTree(feature_used_, units_);
  for (size_t f = 0; f < feature_used_.size(); ++f) {
    if (!exchange_.Needs(f) && !exchange_.sums_histograms()) feature_used_[f] = 0;
  }
  block_used_.assign(bins_.blocks().size(), 0);
  for (size_t f = 0; f < feature_used_.size(); ++f) {
    block_used_[bins_.block_of(f)] |= feature_used_[f];
  }
}

void LeafWiseGrower::StartRoot() {
  tree_.nodes.clear();
  split_leaves_.clear();
  tree_.leaves.assign(1, GrownLeaf{});
  open_.clear();
  open_.resize(1);
  if (bin_bounds_.has_value()) bin_bounds_->Start();
  open_[0].is_splittable = feature_used_;
  open_[0].path = RootPath(tree_number_);
  SplitLeaf& root = tree_.leaves[0].leaf;
  root.sums = work_.Sum();
  tree_.leaves[0].count = work_.size();
  std::array<int64_t, 3> sums = {root.sums.gradient, root.sums.hessian,
                                 static_cast<int64_t>(work_.size())};
  SumOverRanks(sums);
  root.sums = {sums[0], sums[1]};
  root.rows = sums[2];
  SplitRules plain = options_.rules;
  plain.path_smooth = 0;
  root.output =
      LeafOutput(static_cast<double>(root.sums.gradient) * units_.gradient,
                 static_cast<double>(root.sums.hessian) * units_.hessian + kHessianEpsilon,
                 plain.lambda_l2, root.rows, plain, 0);
  const Children alone = {0, 0};
  if (options_.num_leaves > 1) Search({&alone, 1}, {});
}

void LeafWiseGrower::SplitLeaves(std::span<const size_t> leaves) {
  TakeSplits(leaves, PartitionLeaves(leaves));
}

void LeafWiseGrower::TakeSplits(std::span<const size_t> leaves, const Lefts& left) {
  std::vector<Children> pairs;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const size_t at = leaves[i];
    const size_t right = SplitLeafAt(at, static_cast<size_t>(left.here[i]), left.of_all[i]);
    const bool left_is_smaller = tree_.leaves[at].leaf.rows < tree_.leaves[right].leaf.rows;
    pairs.push_back({left_is_smaller ? at : right, left_is_smaller ? right : at});
  }
  const bool is_last = leaves.size() == 1 && tree_.leaves.size() == options_.num_leaves;
  if (is_last && LeavesAtATime() == 1) return;
  Search(pairs, BoundOthers());
}

// By the split that has just been made; those to search again.
std::vector<size_t> LeafWiseGrower::BoundOthers() {
  if (options_.monotone_method == MonotoneMethod::kBasic) return {};
  std::vector<BoundedLeaf> bounded = BoundNeighbours(shapes_, split_leaves_, &tree_);
  std::erase_if(bounded, [this](const BoundedLeaf& b) { return !open_[b.leaf].best.exists(); });
  if (bin_bounds_.has_value()) {
    bin_bounds_->Renew(bounded, split_leaves_, tree_, feature_used_);
  } else {
    std::erase_if(bounded, [](const BoundedLeaf& b) { return !b.changed; });
  }
  std::vector<size_t> again;
  for (const BoundedLeaf& b : bounded) again.push_back(b.leaf);
  return again;
}

// How many of each leaf's rows are left.
LeafWiseGrower::Lefts LeafWiseGrower::PartitionLeaves(std::span<const size_t> leaves) {
  std::vector<LeafSplit> splits;
  for (const size_t at : leaves) {
    const GrownLeaf& leaf = tree_.leaves[at];
    splits.push_back({.leaf = {leaf.begin, leaf.count}, .split = &open_[at].best});
  }
  Lefts left;
  {
    const PhaseScope scope(options_.phases, TreePhase::kPartition);
    left.here = work_.Split(splits);
  }
  left.of_all = left.here;
  SumOverRanks(left.of_all);
  return left;
}

// The left child keeps the leaf's number, the right one gets the next, which is returned. Of its
// rows here and of all ranks so many are left.
size_t LeafWiseGrower::SplitLeafAt(size_t at, size_t left, int64_t left_of_all) {
  const size_t right_at = tree_.leaves.size();
  const auto node_at = static_cast<int32_t>(tree_.nodes.size());
  const Split split = std::move(open_[at].best);
  GrownLeaf& parent = tree_.leaves[at];
  if (parent.parent >= 0) {
    GrownNode& above = tree_.nodes[static_cast<size_t>(parent.parent)];
    (parent.is_left ? above.left : above.right) = node_at;
  }
  split_leaves_.push_back(parent);
  GrownLeaf left_leaf = {.leaf = {.sums = split.left,
                                  .rows = left_of_all,
                                  .output = split.left_output,
                                  .bounds = parent.leaf.bounds},
                         .begin = parent.begin,
                         .count = left,
                         .depth = parent.depth + 1,
                         .parent = node_at,
                         .is_left = true};
  GrownLeaf right_leaf = left_leaf;
  right_leaf.leaf.sums = split.right;
  right_leaf.leaf.rows = parent.leaf.rows - left_of_all;
  right_leaf.leaf.output = split.right_output;
  right_leaf.begin = parent.begin + left;
  right_leaf.count = parent.count - left;
  right_leaf.is_left = false;
  if (bin_bounds_.has_value() && !split.categorical) {
    left_leaf.leaf.bounds = bin_bounds_->OfSide(at, split, true);
    right_leaf.leaf.bounds = bin_bounds_->OfSide(at, split, false);
  }
  BoundSides(split, &left_leaf, &right_leaf);
  if (bin_bounds_.has_value()) bin_bounds_->SplitLeaf(at, split);
  tree_.nodes.push_back({.split = split,
                         .left = ~static_cast<int32_t>(at),
                         .right = ~static_cast<int32_t>(right_at),
                         .leaf = parent.leaf});
  parent = left_leaf;
  tree_.leaves.push_back(right_leaf);
  open_.emplace_back();  // before anything of the others is read: they may have moved
  open_.back().is_splittable = open_[at].is_splittable;
  open_.back().path = ChildPath(open_[at].path, false);
  open_[at].path = ChildPath(open_[at].path, true);
  open_[at].interactions &= shapes_[static_cast<size_t>(split.feature)].interactions;
  open_.back().interactions = open_[at].interactions;
  return right_at;
}

void LeafWiseGrower::BoundSides(const Split& split, GrownLeaf* left, GrownLeaf* right) const {
  if (split.monotone == 0) return;
  const bool rises = split.monotone > 0;
  const double middle = (split.left_output + split.right_output) / 2;
  const bool by_middle = options_.monotone_method == MonotoneMethod::kBasic;
  const OutputBounds between = {
      .min = by_middle ? middle : std::min(split.left_output, split.right_output),
      .max = by_middle ? middle : std::max(split.left_output, split.right_output)};
  OutputBounds& lower = (rises ? left : right)->leaf.bounds;
  OutputBounds& upper = (rises ? right : left)->leaf.bounds;
  lower.max = std::min(lower.max, between.max);
  upper.min = std::max(upper.min, between.min);
}

void LeafWiseGrower::SumOverRanks(std::span<int64_t> numbers) {
  const PhaseScope scope(options_.phases, TreePhase::kExchange);
  exchange_.Sum(numbers);
}

bool LeafWiseGrower::CanSplit(size_t at) const {
  const GrownLeaf& leaf = tree_.leaves[at];
  if (options_.max_depth > 0 && leaf.depth >= options_.max_depth) return false;
  if (leaf.leaf.rows < 2 * options_.rules.min_data_in_leaf) return false;
  // Both sides need their least hessian; a little less than twice that, for rounding.
  const double hessian = static_cast<double>(leaf.leaf.sums.hessian) * units_.hessian;
  return hessian >= (2 - 1e-9) * options_.rules.min_sum_hessian_in_leaf - 1e-9;
}

std::unique_ptr<LeafWiseGrower::Histogram> LeafWiseGrower::TakeHistogram() {
  if (free_.empty()) return std::make_unique<Histogram>(bins_.histogram_bins());
  std::unique_ptr<Histogram> histogram = std::move(free_.back());
  free_.pop_back();
  return histogram;
}

// Histograms of both children of each pair, and the best split of each child; and that of leaves
// that have been searched before, `again`.
void LeafWiseGrower::Search(std::span<const Children> pairs, std::span<const size_t> again) {
  std::vector<LeafHistogram> wanted;
  std::vector<SummedLeaf> built;
  std::vector<Target> targets;
  for (const Children& children : pairs) {
    if (!TakeHistograms(children)) continue;
    const GrownLeaf& smaller = tree_.leaves[children.smaller];
    wanted.push_back(
        {.leaf = {smaller.begin, smaller.count}, .histogram = *open_[children.smaller].histogram});
    built.push_back({.rows = tree_.leaves[children.smaller].leaf.rows,
                     .histogram = *open_[children.smaller].histogram});
    targets.push_back(TargetOf(children.smaller, &children));
    if (!children.is_root()) targets.push_back(TargetOf(children.larger, nullptr));
  }
  for (const size_t leaf : again) targets.push_back(TargetOf(leaf, nullptr));
  if (targets.empty()) return;
  BuildHistograms(wanted);
  if (exchange_.sums_histograms()) {
    const PhaseScope scope(options_.phases, TreePhase::kExchange);
    exchange_.SumHistograms(built);
  }
  const bool selects = exchange_.selects_features();
  if (selects) {
    {
      const PhaseScope scope(options_.phases, TreePhase::kSplitSearch);
      pool_.Run(bins_.features(), [&](size_t f) {
        if (feature_used_[f] == 0) return;
        for (const Target& target : targets) {
          if (target.first_of != nullptr) Complete(*target.first_of, f);
        }
      });
    }
    SelectFeatures(targets);
  }
  SearchFeatures(targets, selects);
  for (const Target& target : targets) {
    OpenLeaf& leaf = open_[target.leaf];
    leaf.best = target.best;
    if (leaf.best.exists()) continue;
    free_.push_back(std::move(leaf.histogram));
    if (bin_bounds_.has_value()) bin_bounds_->Drop(target.leaf);
  }
}

// Gives the smaller child a histogram to build, the larger one its parent's. False: neither can be
// split.
bool LeafWiseGrower::TakeHistograms(const Children& children) {
  if (!children.is_root()) {
    // The left child has the parent's place.
    OpenLeaf& parent = open_[std::min(children.smaller, children.larger)];
    std::unique_ptr<Histogram> histogram = std::move(parent.histogram);
    parent.best = {};
    if (!CanSplit(children.smaller) && !CanSplit(children.larger)) {
      free_.push_back(std::move(histogram));
      return false;
    }
    open_[children.larger].histogram = std::move(histogram);
  }
  open_[children.smaller].histogram = TakeHistogram();
  return true;
}

// Whole where they are summed over ranks, or several at a time; else Complete finishes them.
bool LeafWiseGrower::BuildsWhole() const {
  return exchange_.sums_histograms() || LeavesAtATime() > 1;
}

void LeafWiseGrower::BuildHistograms(std::span<const LeafHistogram> leaves) {
  const PhaseScope scope(options_.phases, TreePhase::kHistograms);
  work_.Build(leaves, block_used_,
              BuildsWhole() ? std::span<const uint8_t>(feature_used_) : std::span<const uint8_t>());
}

// What the search of a feature begins with: the smaller child's histogram whole, and the larger
// one's, what is left of their parent's.
void LeafWiseGrower::Complete(const Children& children, size_t f) {
  const size_t begin = bins_.histogram_begin(f);
  Histogram& smaller = *open_[children.smaller].histogram;
  if (!BuildsWhole()) work_.Finish(begin, bins_.bins(f), smaller);
  if (children.is_root()) return;
  SubtractHistogram(std::span(*open_[children.larger].histogram).subspan(begin, bins_.bins(f)),
                    std::span<const GradientSums>(smaller).subspan(begin, bins_.bins(f)));
}

LeafWiseGrower::Target LeafWiseGrower::TargetOf(size_t leaf, const Children* first_of) const {
  Target target{.leaf = leaf,
                .first_of = first_of,
                .histogram = *open_[leaf].histogram,
                .searched = std::vector<uint8_t>(bins_.features(), 0),
                .best = {}};
  if (!CanSplit(leaf)) return target;
  const std::vector<uint8_t>& is_splittable = open_[leaf].is_splittable;
  const std::vector<uint8_t> may_use = FeaturesOf(leaf);
  for (size_t f = 0; f < bins_.features(); ++f) {
    target.searched[f] = is_splittable[f] != 0 && exchange_.Needs(f) && may_use[f] != 0 ? 1 : 0;
  }
  return target;
}

void LeafWiseGrower::SelectFeatures(std::span<Target> targets) {
  std::vector<SearchedLeaf> leaves;
  for (Target& target : targets) {
    leaves.push_back({.leaf = &tree_.leaves[target.leaf].leaf,
                      .histogram = target.histogram,
                      .searched = target.searched});
  }
  const PhaseScope scope(options_.phases, TreePhase::kExchange);
  exchange_.SelectFeatures(leaves);
  for (size_t i = 0; i < targets.size(); ++i) targets[i].histogram = leaves[i].histogram;
}

// The best split of each target over all features and ranks. What is not completed yet is before it
// is searched.
void LeafWiseGrower::SearchFeatures(std::span<Target> targets, bool completed) {
  const size_t features = bins_.features();
  const size_t pieces = std::min(features, kSearchesPerThread * options_.threads);
  std::vector<std::vector<Split>> found(pieces, std::vector<Split>(targets.size()));
  {
    const PhaseScope scope(options_.phases, TreePhase::kSplitSearch);
    pool_.Run(pieces, [&](size_t piece) {
      for (size_t f = features * piece / pieces; f < features * (piece + 1) / pieces; ++f) {
        if (!exchange_.Needs(f)) continue;
        for (size_t i = 0; i < targets.size(); ++i) {
          const Target& target = targets[i];
          if (open_[target.leaf].is_splittable[f] == 0) continue;  // of siblings the same, so far
          if (!completed && target.first_of != nullptr) Complete(*target.first_of, f);
          if (target.searched[f] == 0) continue;
          Split split = SearchFeature(f, target.leaf, target.histogram);
          if (IsBetter(split, found[piece][i])) found[piece][i] = std::move(split);
        }
      }
    });
  }
  std::vector<Split*> best;
  for (size_t i = 0; i < targets.size(); ++i) {
    for (std::vector<Split>& piece : found) {
      if (IsBetter(piece[i], targets[i].best)) targets[i].best = std::move(piece[i]);
    }
    best.push_back(&targets[i].best);
  }
  const PhaseScope scope(options_.phases, TreePhase::kExchange);
  exchange_.FindBest(best);
}

std::vector<uint8_t> LeafWiseGrower::FeaturesOf(size_t leaf) const {
  std::vector<uint8_t> features = tree_features_;
  for (size_t f = 0; f < features.size(); ++f) {
    if ((shapes_[f].interactions & open_[leaf].interactions) == 0) features[f] = 0;
  }
  if (options_.feature_fraction_bynode >= 1) return features;
  return FeaturesOfNode(features, features_of_node_,
                        NodeSeed(options_.feature_seed, open_[leaf].path));
}

Split LeafWiseGrower::SearchFeature(size_t feature, size_t at,
                                    std::span<const GradientSums> histogram) {
  const FeatureShape& shape = shapes_[feature];
  const int64_t random_bin =
      options_.extra_trees
          ? RandomBin(NodeSeed(options_.extra_seed, open_[at].path), feature, shape)
          : -1;
  const std::span<const OutputBounds> bounds =
      bin_bounds_.has_value() ? bin_bounds_->Of(at, feature) : std::span<const OutputBounds>();
  bool gains = false;
  Split split =
      FindBestSplit(shape, static_cast<int32_t>(feature),
                    histogram.subspan(bins_.histogram_begin(feature), shape.bins),
                    tree_.leaves[at].leaf, units_, options_.rules, random_bin, bounds, &gains);
  if (split.monotone != 0) {
    split.gain *= MonotoneFactor(options_.monotone_penalty, tree_.leaves[at].depth);
  }
  open_[at].is_splittable[feature] = split.exists() || (gains && !bounds.empty()) ? 1 : 0;
  return split;
}

}  // namespace strata
