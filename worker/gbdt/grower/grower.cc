#include "worker/gbdt/grower/grower.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/tree/histogram.h"

namespace strata {
namespace {

constexpr size_t kRowsOfPiece = 1 << 16;  // of a partition or a sum that threads share

// The `wanted` numbers of [0, count) that a seed puts first.
std::vector<size_t> ChooseSome(size_t count, double fraction, uint64_t seed) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  if (fraction >= 1) return order;
  const auto wanted = std::max<size_t>(
      1, static_cast<size_t>(std::llround(static_cast<double>(count) * fraction)));
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
    : bins_(bins), shapes_(std::move(shapes)), options_(options), pool_(pool) {}

const GrownTree& LeafWiseGrower::Grow(const FixedGradients& gradients, const GradientUnits& units,
                                      std::span<const uint32_t> bag, uint64_t tree_number) {
  gradients_ = gradients;
  units_ = units;
  tree_number_ = tree_number;
  rows_.assign(bag.begin(), bag.end());
  spare_.resize(rows_.size());
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
  tree_.rows = rows_;
  return tree_;
}

void LeafWiseGrower::ChooseFeatures() {
  feature_used_.assign(bins_.features(), false);
  const uint64_t seed = Mix64(Mix64(options_.feature_seed) + tree_number_);
  for (const size_t feature : ChooseSome(bins_.features(), options_.feature_fraction, seed)) {
    feature_used_[feature] = true;
  }
}

void LeafWiseGrower::StartRoot() {
  tree_.nodes.clear();
  tree_.leaves.assign(1, GrownLeaf{});
  open_.clear();
  open_.resize(1);
  SplitLeaf& root = tree_.leaves[0].leaf;
  root.sums = SumOf(rows_);
  root.rows = static_cast<int64_t>(rows_.size());
  SplitRules plain = options_.rules;
  plain.path_smooth = 0;
  root.output = LeafOutput(static_cast<double>(root.sums.gradient) * units_.gradient,
                           static_cast<double>(root.sums.hessian) * units_.hessian + kHessianEpsilon,
                           plain.lambda_l2, root.rows, plain, 0);
  if (options_.num_leaves > 1) Search({0, 0});
}

GradientSums LeafWiseGrower::SumOf(std::span<const uint32_t> rows) const {
  std::vector<GradientSums> parts((rows.size() + kRowsOfPiece - 1) / kRowsOfPiece);
  pool_.RunPieces(rows.size(), kRowsOfPiece, [&](size_t begin, size_t end) {
    GradientSums sum;
    for (size_t i = begin; i < end; ++i) {
      if (gradients_.rows32.empty()) {
        const uint64_t row = WidenRow16(gradients_.rows16[rows[i]]);
        sum += {GradientOf(row), HessianOf(row)};
      } else {
        const Row32& row = gradients_.rows32[rows[i]];
        sum += {row.gradient, row.hessian};
      }
    }
    parts[begin / kRowsOfPiece] = sum;
  });
  return std::accumulate(parts.begin(), parts.end(), GradientSums{},
                         [](GradientSums a, const GradientSums& b) { return a += b; });
}

// The left child keeps the leaf's number, the right one gets the next, which is returned.
size_t LeafWiseGrower::SplitLeafAt(size_t at) {
  const size_t right_at = tree_.leaves.size();
  const auto node_at = static_cast<int32_t>(tree_.nodes.size());
  const Split split = std::move(open_[at].best);
  GrownLeaf& parent = tree_.leaves[at];
  if (parent.parent >= 0) {
    GrownNode& above = tree_.nodes[static_cast<size_t>(parent.parent)];
    (parent.is_left ? above.left : above.right) = node_at;
  }
  const auto count = static_cast<size_t>(parent.leaf.rows);
  const size_t left = Partition(split, std::span(rows_).subspan(parent.begin, count));
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

size_t LeafWiseGrower::Partition(const Split& split, std::span<uint32_t> rows) {
  const auto feature = static_cast<size_t>(split.feature);
  const SplitSides sides(shapes_[feature], split);
  const BinColumn& column = bins_.column(feature);
  const std::span<uint32_t> spare = std::span(spare_).first(rows.size());
  if (rows.size() <= kRowsOfPiece) return PartitionRows(column, sides, rows, spare);
  // Each piece by itself, then their sides together.
  const size_t pieces = (rows.size() + kRowsOfPiece - 1) / kRowsOfPiece;
  std::vector<size_t> left_of(pieces + 1, 0);  // first counts, then sums of those before
  pool_.RunPieces(rows.size(), kRowsOfPiece, [&](size_t begin, size_t end) {
    left_of[begin / kRowsOfPiece + 1] = PartitionRows(column, sides, rows.subspan(begin, end - begin),
                                                      spare.subspan(begin, end - begin));
  });
  std::partial_sum(left_of.begin(), left_of.end(), left_of.begin());
  const size_t left = left_of.back();
  pool_.RunPieces(rows.size(), kRowsOfPiece, [&](size_t begin, size_t end) {
    const size_t piece = begin / kRowsOfPiece;
    const size_t mine = left_of[piece + 1] - left_of[piece];
    const size_t right_before = begin - left_of[piece];
    std::copy_n(rows.begin() + static_cast<ptrdiff_t>(begin), mine,
                spare.begin() + static_cast<ptrdiff_t>(left_of[piece]));
    std::copy(rows.begin() + static_cast<ptrdiff_t>(begin + mine),
              rows.begin() + static_cast<ptrdiff_t>(end),
              spare.begin() + static_cast<ptrdiff_t>(left + right_before));
  });
  pool_.RunPieces(rows.size(), kRowsOfPiece, [&](size_t begin, size_t end) {
    std::copy(spare.begin() + static_cast<ptrdiff_t>(begin),
              spare.begin() + static_cast<ptrdiff_t>(end),
              rows.begin() + static_cast<ptrdiff_t>(begin));
  });
  return left;
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
// parent's), and the best split of each. Blocks of features are shared among the threads.
void LeafWiseGrower::Search(const Children& children) {
  const bool is_root = children.smaller == children.larger;
  std::unique_ptr<Histogram> parent;
  if (!is_root) {
    parent = std::move(open_[std::min(children.smaller, children.larger)].histogram);
    open_[std::min(children.smaller, children.larger)].best = {};
    if (!CanSplit(children.smaller) && !CanSplit(children.larger)) {
      free_.push_back(std::move(parent));
      return;
    }
  }
  std::unique_ptr<Histogram> smaller = TakeHistogram();
  const std::span<const BinBlock> blocks = bins_.blocks();
  struct Found {
    Split smaller;
    Split larger;
  };
  std::vector<Found> found(blocks.size());
  const GrownLeaf& leaf = tree_.leaves[children.smaller];
  const std::span<const uint32_t> rows =
      std::span(rows_).subspan(leaf.begin, static_cast<size_t>(leaf.leaf.rows));
  open_[children.smaller].histogram = std::move(smaller);
  if (!is_root) open_[children.larger].histogram = std::move(parent);
  pool_.Run(blocks.size(), [&](size_t b) {
    const BinBlock& block = blocks[b];
    const size_t last = block.first_feature + block.features;
    bool any = false;
    for (size_t f = block.first_feature; f < last; ++f) any = any || feature_used_[f];
    if (!any) return;
    BuildBlockHistogram(bins_, block, rows, gradients_, *open_[children.smaller].histogram);
    if (!is_root) {
      const size_t begin = bins_.histogram_begin(block.first_feature);
      const size_t count =
          bins_.histogram_begin(last - 1) + bins_.bins(last - 1) - begin;
      SubtractHistogram(std::span(*open_[children.larger].histogram).subspan(begin, count),
                        std::span(*open_[children.smaller].histogram).subspan(begin, count));
    }
    for (size_t f = block.first_feature; f < last; ++f) {
      Split split = SearchFeature(f, children.smaller);
      if (IsBetter(split, found[b].smaller)) found[b].smaller = std::move(split);
      if (is_root) continue;
      split = SearchFeature(f, children.larger);
      if (IsBetter(split, found[b].larger)) found[b].larger = std::move(split);
    }
  });
  for (Found& block : found) {
    Split& best = open_[children.smaller].best;
    if (IsBetter(block.smaller, best)) best = std::move(block.smaller);
    Split& other = open_[children.larger].best;
    if (IsBetter(block.larger, other)) other = std::move(block.larger);
  }
  for (const size_t child : {children.smaller, children.larger}) {
    if (open_[child].best.exists() || open_[child].histogram == nullptr) continue;
    free_.push_back(std::move(open_[child].histogram));
  }
}

bool LeafWiseGrower::MayUse(size_t feature, size_t leaf) const {
  if (!feature_used_[feature]) return false;
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
    const uint64_t seed = Mix64(Mix64(Mix64(options_.extra_seed) + tree_number_) + tree_.nodes.size());
    random_bin = static_cast<int64_t>(RowUniform(seed + at, feature) *
                                      static_cast<double>(shape.bins - 1));
    if (shape.categorical) ++random_bin;
  }
  return FindBestSplit(shape, static_cast<int32_t>(feature),
                       std::span(*open_[at].histogram)
                           .subspan(bins_.histogram_begin(feature), shape.bins),
                       tree_.leaves[at].leaf, units_, options_.rules, random_bin);
}

}  // namespace strata
