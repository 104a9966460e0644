#include "worker/gbdt/grower/grower.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/tree/histogram.h"

namespace strata {
namespace {

// Pieces of a search: several a thread, because features have more and fewer bins.
constexpr size_t kSearchesPerThread = 4;

// The `wanted` numbers of [0, count) that a seed puts first.
std::vector<size_t> ChooseSome(size_t count, double fraction, uint64_t seed) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  if (fraction >= 1) return order;
  const auto wanted =
      std::max<size_t>(1, static_cast<size_t>(std::llround(static_cast<double>(count) * fraction)));
  std::ranges::sort(order, [seed](size_t a, size_t b) {
    const uint64_t x = Mix64(seed ^ Mix64(a));
    const uint64_t y = Mix64(seed ^ Mix64(b));
    return x != y ? x < y : a < b;
  });
  order.resize(std::min(wanted, count));
  return order;
}

}  // namespace

LeafWiseGrower::LeafWiseGrower(const BinMatrix& bins, std::vector<FeatureShape> shapes,
                               const GrowerOptions& options, WorkPool& pool)
    : bins_(bins),
      shapes_(std::move(shapes)),
      options_(options),
      pool_(pool),
      rows_(pool),
      builder_(bins, pool, options.threads) {}

const GrownTree& LeafWiseGrower::Grow(const FixedGradients& gradients, const GradientUnits& units,
                                      std::span<const uint32_t> bag, uint64_t tree_number) {
  units_ = units;
  tree_number_ = tree_number;
  {
    const PhaseScope scope(options_.phases, TreePhase::kPartition);
    rows_.Start(bag, gradients);
  }
  ChooseFeatures();
  StartRoot();
  while (tree_.leaves.size() < options_.num_leaves) {
    size_t best = 0;
    for (size_t leaf = 1; leaf < open_.size(); ++leaf) {
      if (IsBetter(open_[leaf].best, open_[best].best)) best = leaf;
    }
    if (!open_[best].best.exists()) break;
    const size_t right = SplitLeafAt(best);
    const bool left_is_smaller = tree_.leaves[best].leaf.rows < tree_.leaves[right].leaf.rows;
    const Children children = {left_is_smaller ? best : right, left_is_smaller ? right : best};
    if (tree_.leaves.size() < options_.num_leaves) Search(children);
  }
  for (OpenLeaf& leaf : open_) {
    if (leaf.histogram != nullptr) free_.push_back(std::move(leaf.histogram));
  }
  tree_.rows = rows_.rows();
  return tree_;
}

void LeafWiseGrower::ChooseFeatures() {
  feature_used_.assign(bins_.features(), 0);
  const uint64_t seed = Mix64(Mix64(options_.feature_seed) + tree_number_);
  for (const size_t feature : ChooseSome(bins_.features(), options_.feature_fraction, seed)) {
    feature_used_[feature] = 1;
  }
  block_used_.clear();
  for (const BinBlock& block : bins_.blocks()) {
    block_used_.push_back(
        *std::max_element(feature_used_.begin() + static_cast<ptrdiff_t>(block.first_feature),
                          feature_used_.begin() + static_cast<ptrdiff_t>(block.end_feature())));
  }
}

void LeafWiseGrower::StartRoot() {
  tree_.nodes.clear();
  tree_.leaves.assign(1, GrownLeaf{});
  open_.clear();
  open_.resize(1);
  SplitLeaf& root = tree_.leaves[0].leaf;
  root.sums = rows_.Sum();
  root.rows = static_cast<int64_t>(rows_.rows().size());
  SplitRules plain = options_.rules;
  plain.path_smooth = 0;
  root.output =
      LeafOutput(static_cast<double>(root.sums.gradient) * units_.gradient,
                 static_cast<double>(root.sums.hessian) * units_.hessian + kHessianEpsilon,
                 plain.lambda_l2, root.rows, plain, 0);
  if (options_.num_leaves > 1) Search({0, 0});
}

// The left child keeps the leaf's number, the right one gets the next, which is returned.
size_t LeafWiseGrower::SplitLeafAt(size_t at) {
  const PhaseScope scope(options_.phases, TreePhase::kPartition);
  const size_t right_at = tree_.leaves.size();
  const auto node_at = static_cast<int32_t>(tree_.nodes.size());
  const Split split = std::move(open_[at].best);
  GrownLeaf& parent = tree_.leaves[at];
  if (parent.parent >= 0) {
    GrownNode& above = tree_.nodes[static_cast<size_t>(parent.parent)];
    (parent.is_left ? above.left : above.right) = node_at;
  }
  const auto count = static_cast<size_t>(parent.leaf.rows);
  const auto feature = static_cast<size_t>(split.feature);
  const size_t left =
      rows_.Split(bins_.column(feature), SplitSides(shapes_[feature], split), parent.begin, count);
  GrownLeaf left_leaf = {.leaf = {.sums = split.left,
                                  .rows = static_cast<int64_t>(left),
                                  .output = split.left_output,
                                  .bounds = parent.leaf.bounds},
                         .begin = parent.begin,
                         .depth = parent.depth + 1,
                         .parent = node_at,
                         .is_left = true};
  GrownLeaf right_leaf = left_leaf;
  right_leaf.leaf.sums = split.right;
  right_leaf.leaf.rows = static_cast<int64_t>(count - left);
  right_leaf.leaf.output = split.right_output;
  right_leaf.begin = parent.begin + left;
  right_leaf.is_left = false;
  if (split.monotone != 0) {
    const double middle = (split.left_output + split.right_output) / 2;
    (split.monotone > 0 ? left_leaf : right_leaf).leaf.bounds.max = middle;
    (split.monotone > 0 ? right_leaf : left_leaf).leaf.bounds.min = middle;
  }
  tree_.nodes.push_back({.split = split,
                         .left = ~static_cast<int32_t>(at),
                         .right = ~static_cast<int32_t>(right_at),
                         .leaf = parent.leaf});
  parent = left_leaf;
  tree_.leaves.push_back(right_leaf);
  open_.emplace_back();
  return right_at;
}

bool LeafWiseGrower::CanSplit(size_t at) const {
  const GrownLeaf& leaf = tree_.leaves[at];
  if (options_.max_depth > 0 && leaf.depth >= options_.max_depth) return false;
  return leaf.leaf.rows >= 2 * options_.rules.min_data_in_leaf;
}

std::unique_ptr<LeafWiseGrower::Histogram> LeafWiseGrower::TakeHistogram() {
  if (free_.empty()) return std::make_unique<Histogram>(bins_.histogram_bins());
  std::unique_ptr<Histogram> histogram = std::move(free_.back());
  free_.pop_back();
  return histogram;
}

// Histograms of two children (of the smaller by its rows, of the larger what is left of their
// parent's), and the best split of each.
void LeafWiseGrower::Search(const Children& children) {
  const bool is_root = children.smaller == children.larger;
  OpenLeaf& smaller = open_[children.smaller];
  OpenLeaf& larger = open_[children.larger];
  if (!is_root) {
    // The left child has the parent's place.
    OpenLeaf& parent = open_[std::min(children.smaller, children.larger)];
    std::unique_ptr<Histogram> histogram = std::move(parent.histogram);
    parent.best = {};
    if (!CanSplit(children.smaller) && !CanSplit(children.larger)) {
      free_.push_back(std::move(histogram));
      return;
    }
    larger.histogram = std::move(histogram);
  }
  smaller.histogram = TakeHistogram();
  const GrownLeaf& leaf = tree_.leaves[children.smaller];
  const auto count = static_cast<size_t>(leaf.leaf.rows);
  {
    const PhaseScope scope(options_.phases, TreePhase::kHistograms);
    builder_.Build(rows_.rows().subspan(leaf.begin, count),
                   rows_.gradients().Part(leaf.begin, count), block_used_, *smaller.histogram);
  }
  const PhaseScope scope(options_.phases, TreePhase::kSplitSearch);
  const size_t features = bins_.features();
  const size_t pieces = std::min(features, kSearchesPerThread * options_.threads);
  struct Found {
    Split smaller;
    Split larger;
  };
  std::vector<Found> found(pieces);
  pool_.Run(pieces, [&](size_t piece) {
    Found& best = found[piece];
    for (size_t f = features * piece / pieces; f < features * (piece + 1) / pieces; ++f) {
      if (feature_used_[f] == 0) continue;
      const size_t begin = bins_.histogram_begin(f);
      const size_t bins = bins_.bins(f);
      builder_.Finish(begin, bins, *smaller.histogram);
      if (!is_root) {
        SubtractHistogram(std::span(*larger.histogram).subspan(begin, bins),
                          std::span(*smaller.histogram).subspan(begin, bins));
        Split split = SearchFeature(f, children.larger);
        if (IsBetter(split, best.larger)) best.larger = std::move(split);
      }
      Split split = SearchFeature(f, children.smaller);
      if (IsBetter(split, best.smaller)) best.smaller = std::move(split);
    }
  });
  for (Found& piece : found) {
    if (IsBetter(piece.smaller, smaller.best)) smaller.best = std::move(piece.smaller);
    if (IsBetter(piece.larger, larger.best)) larger.best = std::move(piece.larger);
  }
  for (OpenLeaf* child : {&smaller, &larger}) {
    if (child->best.exists() || child->histogram == nullptr) continue;
    free_.push_back(std::move(child->histogram));
  }
}

bool LeafWiseGrower::MayUse(size_t feature, size_t leaf) const {
  if (options_.feature_fraction_bynode >= 1) return true;
  const uint64_t seed =
      Mix64(Mix64(Mix64(options_.feature_seed) + tree_number_) + tree_.nodes.size() * 2 + leaf + 1);
  return RowUniform(seed, feature) < options_.feature_fraction_bynode;
}

Split LeafWiseGrower::SearchFeature(size_t feature, size_t at) {
  if (!MayUse(feature, at) || !CanSplit(at)) return {};
  int64_t random_bin = -1;
  const FeatureShape& shape = shapes_[feature];
  if (options_.extra_trees && shape.bins > 2) {
    const uint64_t seed =
        Mix64(Mix64(Mix64(options_.extra_seed) + tree_number_) + tree_.nodes.size());
    random_bin =
        static_cast<int64_t>(RowUniform(seed + at, feature) * static_cast<double>(shape.bins - 1));
    if (shape.categorical) ++random_bin;
  }
  return FindBestSplit(
      shape, static_cast<int32_t>(feature),
      std::span(*open_[at].histogram).subspan(bins_.histogram_begin(feature), shape.bins),
      tree_.leaves[at].leaf, units_, options_.rules, random_bin);
}

}  // namespace strata
