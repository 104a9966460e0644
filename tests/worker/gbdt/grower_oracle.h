// What LightGBM's rules say of whole trees, by trying everything in long double: each split that
// the grower makes is one of those that gain most of all that are allowed, and it stops where none
// is left.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kernels/tree/grow/partition.h"
#include "kernels/tree/split/node_draw.h"
#include "worker/gbdt/grower/feature_choice.h"
#include "worker/gbdt/grower/grower.h"

namespace strata {

using Wide = long double;
constexpr double kTooClose = 1e-9;  // gains of which rounding may say which is larger

inline bool IsMissing(const FeatureShape& shape, uint32_t bin) {
  if (shape.missing == MissingKind::kNaN) return bin + 1 == shape.bins;
  return shape.missing == MissingKind::kZero && bin == shape.default_bin;
}

struct Problem {
  size_t rows = 0;
  std::vector<FeatureShape> shapes;
  std::vector<std::set<size_t>> sets;       // interaction constraints; empty: none
  std::vector<std::vector<uint32_t>> bins;  // by row and feature
  std::vector<Row32> gradients;
  GradientUnits units = {.gradient = 0.01, .hessian = 0.5};
  GrowerOptions options;
  uint64_t tree_number = 0;
};

// One way of splitting a leaf: which bins of a feature go left.
struct Way {
  size_t feature = 0;
  std::vector<uint8_t> left;
  Wide gain = 0;  // as trees are ordered by
  Wide left_output = 0;
  Wide right_output = 0;
};

struct Side {
  Wide gradient = 0;
  Wide hessian = 0;
  int64_t rows = 0;  // guessed
};

struct WideBounds {
  Wide low = -1e300L;
  Wide high = 1e300L;
};

struct OracleLeaf {
  std::vector<size_t> rows;
  size_t depth = 0;
  Wide output = 0;
  WideBounds bounds;
  std::vector<std::vector<WideBounds>> by_bin;  // of features and bins: kAdvanced
  uint64_t path = 0;
  std::set<size_t> above;  // features
  // Of each feature, the bins that its rows may have.
  std::vector<std::vector<uint8_t>> allowed;
  std::vector<std::pair<size_t, bool>> turns;  // features from the root, and whether left
  std::vector<uint8_t> splittable;             // where they were searched above
  std::vector<Way> ways;
};

class Oracle {
 public:
  explicit Oracle(const Problem& problem) : p_(problem), o_(problem.options), r_(o_.rules) {
    OracleLeaf root;
    for (size_t row = 0; row < p_.rows; ++row) root.rows.push_back(row);
    tree_features_ =
        FeaturesOfTree(p_.shapes.size(), o_.feature_fraction, o_.feature_seed, p_.tree_number);
    root.splittable = tree_features_;
    root.path = RootPath(p_.tree_number);
    for (const FeatureShape& shape : p_.shapes) {
      root.allowed.emplace_back(shape.bins, 1);
      root.by_bin.emplace_back(shape.bins);
    }
    const Side all = SideOf(root, [](size_t) { return true; });
    root.output = Clip(-Soft(all.gradient) / (all.hessian + r_.lambda_l2));
    Search(&root);
    leaves_.push_back(std::move(root));
    if (!o_.forced.empty()) forced_.push_back({0, 0});
  }

  // False: something was too close to tell, and nothing more is known.
  [[nodiscard]] bool ExpectTree(const GrownTree& tree) {
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      SCOPED_TRACE(fmt::format("node {}", i));
      if (is_unsure_) return false;
      const GrownNode& node = tree.nodes[i];
      const auto feature = static_cast<size_t>(node.split.feature);
      const size_t leaf = LeafOf(tree, i);
      const SplitSides sides(p_.shapes[feature], node.split);
      const std::vector<uint8_t> left(sides.left().begin(), sides.left().end());
      const std::optional<Way> forced = NextForced();
      if (forced.has_value()) {
        EXPECT_EQ(leaf, forced_.front().second);
        EXPECT_EQ(feature, forced->feature);
        EXPECT_EQ(left, forced->left);
        EXPECT_NEAR(node.split.gain, static_cast<double>(forced->gain), 1e-9);
      } else {
        ExpectBest(node, leaf, left);
      }
      if (testing::Test::HasFailure()) return true;
      Apply(node, leaf, left, forced.has_value());
    }
    if (is_unsure_) return false;
    if (tree.leaves.size() < o_.num_leaves) {
      EXPECT_FALSE(NextForced().has_value());
      EXPECT_LT(static_cast<double>(BestGain()), kTooClose) << "a split was left";
    }
    EXPECT_EQ(tree.leaves.size(), leaves_.size());
    for (size_t leaf = 0; leaf < std::min(leaves_.size(), tree.leaves.size()); ++leaf) {
      EXPECT_NEAR(tree.leaves[leaf].leaf.output, static_cast<double>(leaves_[leaf].output), 1e-9);
      const auto rows = tree.RowsOf(tree.leaves[leaf]);
      EXPECT_TRUE(std::equal(rows.begin(), rows.end(), leaves_[leaf].rows.begin(),
                             leaves_[leaf].rows.end()));
    }
    return true;
  }

 private:
  Wide Soft(Wide gradient) const {
    return std::max(std::fabs(gradient) - static_cast<Wide>(r_.lambda_l1), Wide{0}) *
           (gradient < 0 ? -1 : 1);
  }
  Wide Clip(Wide output) const {
    const Wide most = r_.max_delta_step;
    return most > 0 ? std::clamp(output, -most, most) : output;
  }
  Wide OutputOf(const Side& side, Wide l2, const OracleLeaf& leaf) const {
    Wide output = Clip(-Soft(side.gradient) / (side.hessian + l2));
    if (r_.path_smooth > 0) {
      const Wide weight = static_cast<Wide>(side.rows) / r_.path_smooth;
      output = output * weight / (weight + 1) + leaf.output / (weight + 1);
    }
    return output;
  }
  Wide GainOf(const Side& side, Wide l2, Wide output) const {
    return -(2 * Soft(side.gradient) * output + (side.hessian + l2) * output * output);
  }

  template <typename IsIn>
  Side SideOf(const OracleLeaf& leaf, const IsIn& is_in) const {
    Side side;
    for (const size_t row : leaf.rows) {
      if (!is_in(row)) continue;
      side.gradient += static_cast<Wide>(p_.gradients[row].gradient) * p_.units.gradient;
      side.hessian += static_cast<Wide>(p_.gradients[row].hessian) * p_.units.hessian;
      ++side.rows;
    }
    return side;
  }
  // A bin's rows as histograms have them: guessed from the share of the leaf's hessians.
  Side BinOf(const OracleLeaf& leaf, size_t feature, uint32_t bin) const {
    Side side = SideOf(leaf, [&](size_t row) { return p_.bins[row][feature] == bin; });
    const Side all = SideOf(leaf, [](size_t) { return true; });
    const Wide guess = side.hessian * static_cast<Wide>(all.rows) / all.hessian;
    side.rows = static_cast<int64_t>(guess + 0.5L);
    if (std::fabs(guess - std::floor(guess) - 0.5L) < kTooClose) is_unsure_ = true;
    return side;
  }
  Side SumOf(const OracleLeaf& leaf, size_t feature, const std::vector<uint32_t>& bins) const {
    Side sum;
    for (const uint32_t bin : bins) {
      const Side side = BinOf(leaf, feature, bin);
      sum.gradient += side.gradient;
      sum.hessian += side.hessian;
      sum.rows += side.rows;
    }
    return sum;
  }
  static Side Rest(const Side& all, const Side& side) {
    return {all.gradient - side.gradient, all.hessian - side.hessian, all.rows - side.rows};
  }

  bool IsLarge(const Side& side) const {
    return side.rows >= r_.min_data_in_leaf && side.hessian >= r_.min_sum_hessian_in_leaf;
  }

  bool MayStandTogether(const OracleLeaf& leaf, size_t feature) const {
    if (p_.sets.empty()) return true;
    return std::ranges::any_of(p_.sets, [&](const std::set<size_t>& set) {
      return set.contains(feature) &&
             std::ranges::all_of(leaf.above, [&](size_t f) { return set.contains(f); });
    });
  }

  bool CanSplit(const OracleLeaf& leaf) const {
    return (o_.max_depth == 0 || leaf.depth < o_.max_depth) &&
           static_cast<int64_t>(leaf.rows.size()) >= 2 * r_.min_data_in_leaf;
  }

  void Search(OracleLeaf* leaf) {
    leaf->ways.clear();
    if (!CanSplit(*leaf)) return;
    std::vector<uint8_t> candidates = tree_features_;
    for (size_t f = 0; f < candidates.size(); ++f) {
      if (!MayStandTogether(*leaf, f)) candidates[f] = 0;
    }
    const auto all = static_cast<size_t>(std::ranges::count(tree_features_, 1));
    const std::vector<uint8_t> drawn =
        o_.feature_fraction_bynode < 1
            ? FeaturesOfNode(candidates, ShareOfFeatures(all, o_.feature_fraction_bynode),
                             NodeSeed(o_.feature_seed, leaf->path))
            : candidates;
    for (size_t f = 0; f < p_.shapes.size(); ++f) {
      if (drawn[f] == 0 || leaf->splittable[f] == 0) continue;
      gains_ = false;
      const int64_t random =
          o_.extra_trees ? RandomBin(NodeSeed(o_.extra_seed, leaf->path), f, p_.shapes[f]) : -1;
      if (p_.shapes[f].categorical) {
        AddSets(leaf, f, random);
      } else {
        AddThresholds(leaf, f, random);
      }
      leaf->splittable[f] = gains_ ? 1 : 0;
    }
  }

  // Of a child, which is to have the leaf's bins of one side.
  WideBounds BoundsOf(const OracleLeaf& leaf, size_t f, const std::vector<uint8_t>& left_bins,
                      bool is_left) const {
    const bool is_advanced = o_.monotone_method == MonotoneMethod::kAdvanced;
    if (!is_advanced || p_.shapes[f].categorical) return leaf.bounds;
    WideBounds bounds;
    for (size_t bin = 0; bin < left_bins.size(); ++bin) {
      if ((left_bins[bin] != 0) != is_left) continue;
      bounds.low = std::max(bounds.low, leaf.by_bin[f][bin].low);
      bounds.high = std::min(bounds.high, leaf.by_bin[f][bin].high);
    }
    return bounds;
  }

  // The way's gain and outputs; it is kept if it gains anything. `l2`: of the children.
  void Offer(OracleLeaf* leaf, size_t f, const std::vector<uint8_t>& left_bins, const Side& left,
             const Side& right, Wide l2) {
    const FeatureShape& shape = p_.shapes[f];
    const Side all = SideOf(*leaf, [](size_t) { return true; });
    Way way{.feature = f, .left = left_bins};
    bool excluded = false;
    const auto bounded = [&](const Side& side, bool is_left) {
      const WideBounds bounds = BoundsOf(*leaf, f, left_bins, is_left);
      excluded |= bounds.low > bounds.high;
      const Wide output = OutputOf(side, l2, *leaf);
      return output < bounds.low ? bounds.low : std::min(output, bounds.high);
    };
    way.left_output = bounded(left, true);
    way.right_output = bounded(right, false);
    const Wide rise = way.right_output - way.left_output;
    if (shape.monotone != 0 && rise * shape.monotone < 0) {
      if (std::fabs(rise) < kTooClose) is_unsure_ = true;
      return;
    }
    const bool own_output = shape.categorical && r_.path_smooth > 0;
    const Wide now =
        GainOf(all, r_.lambda_l2, own_output ? leaf->output : OutputOf(all, r_.lambda_l2, *leaf));
    const Wide gain = GainOf(left, l2, way.left_output) + GainOf(right, l2, way.right_output) -
                      now - static_cast<Wide>(r_.min_gain_to_split);
    if (std::fabs(gain) < kTooClose) is_unsure_ = true;
    if (gain <= 0 || shape.penalty <= 0) return;
    gains_ = true;
    if (excluded) return;
    way.gain = gain * shape.penalty;
    if (shape.monotone != 0) way.gain *= MonotoneFactorOf(leaf->depth);
    leaf->ways.push_back(std::move(way));
  }

  Wide MonotoneFactorOf(size_t depth) const {
    const Wide penalty = o_.monotone_penalty;
    const Wide levels = static_cast<Wide>(depth);
    if (penalty >= levels + 1) return 1e-15L;
    if (penalty <= 1) return 1 - penalty / std::pow(Wide{2}, levels);
    return 1 - std::pow(Wide{2}, penalty - 1 - levels);
  }

  void AddThresholds(OracleLeaf* leaf, size_t f, int64_t random) {
    const FeatureShape& shape = p_.shapes[f];
    const Side all = SideOf(*leaf, [](size_t) { return true; });
    const bool apart = shape.missing != MissingKind::kNone && shape.bins > 2;
    for (uint32_t threshold = 0; threshold + 1 < shape.bins; ++threshold) {
      if (random >= 0 && threshold != static_cast<uint64_t>(random)) continue;
      for (const bool missing_left : {true, false}) {
        if (!apart && !missing_left) continue;
        std::vector<uint8_t> left(shape.bins, 0);
        std::vector<uint32_t> summed;  // of the side that a scan adds up
        for (uint32_t bin = 0; bin < shape.bins; ++bin) {
          const bool is_missing = apart && IsMissing(shape, bin);
          left[bin] = (is_missing ? missing_left : bin <= threshold) ? 1 : 0;
          if (!is_missing && (left[bin] != 0) != missing_left) summed.push_back(bin);
        }
        // A scan does not stop at a bin that takes no part.
        const uint32_t last = missing_left ? threshold + 1 : threshold;
        if (apart && IsMissing(shape, last)) continue;
        const Side side = SumOf(*leaf, f, summed);
        const Side rest = Rest(all, side);
        if (!IsLarge(side) || !IsLarge(rest)) continue;
        Offer(leaf, f, left, missing_left ? rest : side, missing_left ? side : rest, r_.lambda_l2);
      }
    }
  }

  void AddSets(OracleLeaf* leaf, size_t f, int64_t random) {
    const FeatureShape& shape = p_.shapes[f];
    const Side all = SideOf(*leaf, [](size_t) { return true; });
    if (shape.bins <= static_cast<uint32_t>(r_.max_cat_to_onehot)) {
      for (uint32_t bin = 1; bin < shape.bins; ++bin) {
        if (random >= 0 && bin != static_cast<uint64_t>(random)) continue;
        std::vector<uint8_t> left(shape.bins, 0);
        left[bin] = 1;
        const Side side = BinOf(*leaf, f, bin);
        if (!IsLarge(side) || !IsLarge(Rest(all, side))) continue;
        Offer(leaf, f, left, side, Rest(all, side), r_.lambda_l2);
      }
      return;
    }
    std::vector<std::pair<double, uint32_t>> order;
    for (uint32_t bin = 1; bin < shape.bins; ++bin) {
      const Side side = BinOf(*leaf, f, bin);
      if (static_cast<double>(side.rows) < r_.cat_smooth) continue;
      order.emplace_back(
          static_cast<double>(side.gradient) / (static_cast<double>(side.hessian) + r_.cat_smooth),
          bin);
    }
    std::ranges::sort(order);
    for (size_t i = 1; i < order.size(); ++i) {
      if (order[i].first - order[i - 1].first < kTooClose) is_unsure_ = true;
    }
    const size_t most =
        std::min<size_t>(static_cast<size_t>(r_.max_cat_threshold), (order.size() + 1) / 2);
    for (const bool from_front : {true, false}) {
      std::vector<uint8_t> left(shape.bins, 0);
      std::vector<uint32_t> taken;
      int64_t group = 0;
      for (size_t i = 0; i < most; ++i) {
        const uint32_t bin = order[from_front ? i : order.size() - 1 - i].second;
        left[bin] = 1;
        taken.push_back(bin);
        group += BinOf(*leaf, f, bin).rows;
        const Side side = SumOf(*leaf, f, taken);
        const Side rest = Rest(all, side);
        if (!IsLarge(side)) continue;
        if (!IsLarge(rest) || rest.rows < r_.min_data_per_group) break;
        if (group < r_.min_data_per_group) continue;
        group = 0;
        if (random >= 0 && i != static_cast<size_t>(random) % most) continue;
        Offer(leaf, f, left, side, rest, r_.lambda_l2 + r_.cat_l2);
      }
    }
  }

  // What the next forced split would be; nothing where forcing has ended, or ends now.
  std::optional<Way> NextForced() {
    if (forced_.empty()) return std::nullopt;
    const auto [number, at] = forced_.front();
    const ForcedSplit& forced = o_.forced[static_cast<size_t>(number)];
    const FeatureShape& shape = p_.shapes[forced.feature];
    OracleLeaf leaf = leaves_[at];
    Way way{.feature = forced.feature, .left = std::vector<uint8_t>(shape.bins, 0)};
    for (uint32_t bin = 0; bin < shape.bins; ++bin) {
      const bool left =
          shape.categorical ? bin == forced.bin : bin <= forced.bin || IsMissing(shape, bin);
      way.left[bin] = left ? 1 : 0;
    }
    const auto is_left = [&](size_t row) { return way.left[p_.bins[row][way.feature]] != 0; };
    const Side all = SideOf(leaf, [](size_t) { return true; });
    const Side left = SideOf(leaf, is_left);
    const Side right = Rest(all, left);
    way.left_output = OutputOf(left, r_.lambda_l2, leaf);
    way.right_output = OutputOf(right, r_.lambda_l2, leaf);
    way.gain = GainOf(left, r_.lambda_l2, way.left_output) +
               GainOf(right, r_.lambda_l2, way.right_output) -
               GainOf(all, r_.lambda_l2, leaf.output) - static_cast<Wide>(r_.min_gain_to_split);
    if (std::fabs(way.gain) < kTooClose) is_unsure_ = true;
    if (way.gain > 0 && left.rows > 0 && right.rows > 0) return way;
    forced_.clear();
    return std::nullopt;
  }

  Wide BestOf(const OracleLeaf& leaf) const {
    Wide best = 0;
    for (const Way& way : leaf.ways) best = std::max(best, way.gain);
    return best;
  }
  // Of the leaves that may come next.
  Wide BestGain() const {
    Wide best = 0;
    size_t depth = 0;
    for (const OracleLeaf& leaf : leaves_) {
      const Wide own = BestOf(leaf);
      const bool is_above =
          o_.policy == GrowPolicy::kDepthWise && own > 0 && (best == 0 || leaf.depth < depth);
      if (is_above ||
          ((o_.policy == GrowPolicy::kLossGuide || leaf.depth == depth) && own > best)) {
        best = own;
        depth = leaf.depth;
      }
    }
    return best;
  }

  // The number of the leaf that node i was.
  size_t LeafOf(const GrownTree& tree, size_t i) const {
    const auto it = std::ranges::find(node_of_leaf_, static_cast<int32_t>(i));
    if (i == 0) return 0;
    EXPECT_NE(it, node_of_leaf_.end());
    (void)tree;
    return static_cast<size_t>(it - node_of_leaf_.begin());
  }

  void ExpectBest(const GrownNode& node, size_t at, const std::vector<uint8_t>& left) const {
    const OracleLeaf& leaf = leaves_[at];
    const auto feature = static_cast<size_t>(node.split.feature);
    const auto same = [&](const Way& way) { return way.feature == feature && way.left == left; };
    const auto way = std::ranges::find_if(leaf.ways, same);
    ASSERT_NE(way, leaf.ways.end()) << "feature " << feature << ": not allowed in leaf " << at;
    const auto best = static_cast<double>(BestGain());
    const auto gain = static_cast<double>(way->gain);
    EXPECT_GE(gain, best - kTooClose * (1 + best)) << "not the best, of feature " << feature;
    EXPECT_NEAR(node.split.gain, gain, kTooClose * (1 + gain));
    EXPECT_NEAR(node.split.left_output, static_cast<double>(way->left_output), 1e-9);
    EXPECT_NEAR(node.split.right_output, static_cast<double>(way->right_output), 1e-9);
  }

  void Apply(const GrownNode& node, size_t at, const std::vector<uint8_t>& left, bool forced) {
    const auto feature = static_cast<size_t>(node.split.feature);
    const OracleLeaf parent = leaves_[at];
    OracleLeaf first = parent;
    OracleLeaf second = parent;
    first.rows.clear();
    second.rows.clear();
    for (const size_t row : parent.rows) {
      (left[p_.bins[row][feature]] != 0 ? first : second).rows.push_back(row);
    }
    first.output = node.split.left_output;
    second.output = node.split.right_output;
    const int8_t monotone = forced ? int8_t{0} : p_.shapes[feature].monotone;
    for (uint32_t bin = 0; bin < left.size(); ++bin) {
      (left[bin] != 0 ? second : first).allowed[feature][bin] = 0;
    }
    first.turns.emplace_back(feature, true);
    second.turns.emplace_back(feature, false);
    const Wide middle = (first.output + second.output) / 2;
    if (o_.monotone_method != MonotoneMethod::kBasic) {
      if (o_.monotone_method == MonotoneMethod::kAdvanced && !p_.shapes[feature].categorical) {
        first.bounds = BoundsOf(parent, feature, left, true);
        second.bounds = BoundsOf(parent, feature, left, false);
      }
      BoundEachOther(&first, &second);
      if (monotone != 0) BoundAllBins(&first, second.output, monotone < 0);
      if (monotone != 0) BoundAllBins(&second, first.output, monotone > 0);
      leaves_[at] = first;
      leaves_.push_back(second);
      for (size_t other = 0; other + 1 < leaves_.size(); ++other) {
        if (other != at) BoundOther(parent, first, second, &leaves_[other]);
      }
      leaves_.pop_back();
    } else if (monotone != 0) {
      OracleLeaf& lower = monotone > 0 ? first : second;
      OracleLeaf& upper = monotone > 0 ? second : first;
      lower.bounds.high = std::min(lower.bounds.high, middle);
      upper.bounds.low = std::max(upper.bounds.low, middle);
    }
    first.path = ChildPath(parent.path, true);
    second.path = ChildPath(parent.path, false);
    for (OracleLeaf* child : {&first, &second}) {
      child->depth = parent.depth + 1;
      child->above.insert(feature);
      Search(child);
    }
    if (forced) {
      const auto [number, leaf] = forced_.front();
      forced_.pop_front();
      const ForcedSplit& split = o_.forced[static_cast<size_t>(number)];
      if (split.left >= 0) forced_.emplace_back(split.left, at);
      if (split.right >= 0) forced_.emplace_back(split.right, leaves_.size());
    }
    leaves_[at] = std::move(first);
    leaves_.push_back(std::move(second));
    node_of_leaf_.resize(leaves_.size(), -1);
    node_of_leaf_[at] = node.left;  // ~leaf for leaves, which no node's number is
    node_of_leaf_.back() = node.right;
  }

  // Rows of both may be the same but for a value of the feature, which is larger in `upper`, and
  // for categories, which LightGBM looks at only where they part the leaves.
  bool IsBelow(const OracleLeaf& lower, const OracleLeaf& upper, size_t feature) const {
    if (std::ranges::mismatch(lower.turns, upper.turns).in1->first != feature) return false;
    for (size_t f = 0; f < p_.shapes.size(); ++f) {
      bool meet = p_.shapes[f].categorical;
      bool rises = false;
      for (uint32_t a = 0; a < p_.shapes[f].bins; ++a) {
        meet |= lower.allowed[f][a] != 0 && upper.allowed[f][a] != 0;
        for (uint32_t b = a + 1; b < p_.shapes[f].bins; ++b) {
          rises |= lower.allowed[f][a] != 0 && upper.allowed[f][b] != 0;
        }
      }
      if (f == feature ? !rises : !meet) return false;
    }
    return true;
  }
  void BoundBy(const OracleLeaf& by, OracleLeaf* leaf) const {
    for (size_t f = 0; f < p_.shapes.size(); ++f) {
      const int8_t monotone = p_.shapes[f].monotone;
      if (monotone == 0) continue;
      const bool above = IsBelow(by, *leaf, f);
      const bool below = IsBelow(*leaf, by, f);
      if (monotone > 0 ? above : below) leaf->bounds.low = std::max(leaf->bounds.low, by.output);
      if (monotone > 0 ? below : above) leaf->bounds.high = std::min(leaf->bounds.high, by.output);
    }
  }
  // By both sides of what was a leaf elsewhere, which are among the leaves.
  void BoundOther(const OracleLeaf& parent, const OracleLeaf& first, const OracleLeaf& second,
                  OracleLeaf* other) {
    const OracleLeaf before = *other;
    BoundBy(first, other);
    BoundBy(second, other);
    if (other->ways.empty()) return;
    if (o_.monotone_method == MonotoneMethod::kIntermediate) {
      if (other->bounds.low != before.bounds.low || other->bounds.high != before.bounds.high)
        Search(other);
      return;
    }
    for (size_t f = 0; f < p_.shapes.size(); ++f) {
      const int8_t monotone = p_.shapes[f].monotone;
      const bool above = monotone != 0 && IsBelow(parent, *other, f);
      const bool below = monotone != 0 && IsBelow(*other, parent, f);
      if ((!above && !below) || IsBehindOthers(parent, *other)) continue;
      RenewBins(other, above == (monotone > 0));
      Search(other);
    }
  }
  // Whether other leaves are between, as the place is on the same side of a split of the feature
  // below the one that parts both.
  static bool IsBehindOthers(const OracleLeaf& place, const OracleLeaf& other) {
    const auto parting = std::ranges::mismatch(place.turns, other.turns).in1;
    return std::find(parting + 1, place.turns.end(), *parting) != place.turns.end();
  }
  static void BoundAllBins(OracleLeaf* leaf, Wide output, bool from_below) {
    for (auto& bins : leaf->by_bin) {
      for (WideBounds& bin : bins) {
        if (from_below) {
          bin.low = std::max(bin.low, output);
        } else {
          bin.high = std::min(bin.high, output);
        }
      }
    }
  }
  // One side of the bounds, from all leaves that bound the leaf's rows that have the bin.
  void RenewBins(OracleLeaf* leaf, bool from_below) const {
    for (size_t f = 0; f < p_.shapes.size(); ++f) {
      for (size_t bin = 0; bin < p_.shapes[f].bins; ++bin) {
        WideBounds& bounds = leaf->by_bin[f][bin];
        if (from_below) {
          bounds.low = WideBounds().low;
        } else {
          bounds.high = WideBounds().high;
        }
        if (leaf->allowed[f][bin] == 0) continue;
        for (size_t g = 0; g < p_.shapes.size(); ++g) {
          if (p_.shapes[g].monotone == 0) continue;
          OracleLeaf part = *leaf;
          if (f != g) {
            std::ranges::fill(part.allowed[f], 0);
            part.allowed[f][bin] = 1;
          }
          for (const OracleLeaf& by : leaves_) {
            const bool is_lower = from_below == (p_.shapes[g].monotone > 0);
            if (by.turns == leaf->turns) continue;
            if (is_lower ? !IsBelow(by, part, g) : !IsBelow(part, by, g)) continue;
            if (from_below) {
              bounds.low = std::max(bounds.low, by.output);
            } else {
              bounds.high = std::min(bounds.high, by.output);
            }
          }
        }
      }
    }
  }
  void BoundEachOther(OracleLeaf* a, OracleLeaf* b) const {
    BoundBy(*a, b);
    BoundBy(*b, a);
  }

  const Problem& p_;
  const GrowerOptions& o_;
  const SplitRules& r_;
  std::vector<uint8_t> tree_features_;
  std::vector<OracleLeaf> leaves_;
  std::vector<int32_t> node_of_leaf_ = {0};
  std::deque<std::pair<int32_t, size_t>> forced_;
  bool gains_ = false;  // a way of the feature that is being searched does
  mutable bool is_unsure_ = false;
};

}  // namespace strata
