// SplitJudge: what one split of a leaf by one feature is worth. The arithmetic that every search of
// a feature's histogram consists of, whatever order it takes the bins in, on host and device: the
// same numbers to the bit.
#pragma once

#include <cstdint>

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/split/feature_shape.h"
#include "kernels/tree/split/split.h"
#include "strata/host_device.h"

namespace strata {

// One side's sums while a pass goes over the bins.
struct SplitSide {
  GradientSums sums;
  int64_t rows = 0;  // guessed from hessians
};

// What a split into a side and the rest of its leaf may be.
enum class SplitVerdict : uint8_t {
  kShort,       // the side is too small yet
  kOtherShort,  // the rest is too small, and will be for all larger sides
  kAllowed,
};

// A gain as a fraction of numbers that are not negative, so that gains are compared without
// dividing.
struct GainFraction {
  double over;
  double under;
};

STRATA_HD bool IsLess(const GainFraction& a, const GainFraction& b) {
  return a.over * b.under < b.over * a.under;
}
// Whether SplitJudge::GainOf is less for a than for b. A fraction is off by at most three roundings
// (two of over, one of under), the products below by one each and that with the margin by another,
// and GainOf by two of its own: of 1 + 2^-53 each, 13 in all. The margin is 32 of them.
STRATA_HD bool IsSurelyLess(const GainFraction& a, const GainFraction& b) {
  return a.over * b.under < b.over * a.under * (1 - 0x1p-48);
}

// Below all gains, and below what a leaf with a bent output has, which may be below 0.
constexpr double kNoGain = -1.7976931348623157e308;

class SplitJudge {
 public:
  // Of a leaf and a feature; all but the shape are copied.
  STRATA_HD SplitJudge(const FeatureShape& shape, const SplitLeaf& leaf, const GradientUnits& units,
                       const SplitRules& rules)
      : monotone_(shape.monotone),
        penalty_(shape.penalty),
        leaf_(leaf),
        units_(units),
        rules_(rules),
        l2_(rules.lambda_l2),
        hessian_(Hessian(leaf.sums.hessian) + 2 * kHessianEpsilon),
        rows_per_hessian_(static_cast<double>(leaf.rows) / hessian_) {
    const double gradient = Gradient(leaf.sums.gradient);
    // As LightGBM has it: a category's split must beat the output that the leaf has, a number's
    // that which it would get.
    const double own_gain = shape.categorical && rules.path_smooth > 0
                                ? GainGivenOutput(gradient, hessian_, l2_, rules, leaf.output)
                                : LeafGain(gradient, hessian_, l2_, leaf.rows, rules, leaf.output);
    gain_to_beat_ = own_gain + rules.min_gain_to_split;
    const OutputBounds none;
    constrained_ = monotone_ != 0 || leaf.bounds.min > none.min || leaf.bounds.max < none.max;
  }

  // The same with more regularisation of the children, not of the leaf: of subsets of categories.
  STRATA_HD SplitJudge WithMoreL2(double l2) const {
    SplitJudge more = *this;
    more.l2_ += l2;
    return more;
  }

  STRATA_HD double Gradient(int64_t sum) const { return ToDouble(sum) * units_.gradient; }
  STRATA_HD double Hessian(int64_t sum) const { return ToDouble(sum) * units_.hessian; }
  STRATA_HD int64_t RowsOf(const GradientSums& bin) const {
    return RowsFromHessian(Hessian(bin.hessian), rows_per_hessian_);
  }

  STRATA_HD void Add(const GradientSums& bin, SplitSide* side) const {
    side->sums += bin;
    side->rows += RowsOf(bin);
  }

  [[gnu::always_inline]] STRATA_HD SplitVerdict Judge(const SplitSide& side) const {
    const double hessian = Hessian(side.sums.hessian) + kHessianEpsilon;
    if (side.rows < rules_.min_data_in_leaf || hessian < rules_.min_sum_hessian_in_leaf) {
      return SplitVerdict::kShort;
    }
    if (leaf_.rows - side.rows < rules_.min_data_in_leaf ||
        hessian_ - hessian < rules_.min_sum_hessian_in_leaf) {
      return SplitVerdict::kOtherShort;
    }
    return SplitVerdict::kAllowed;
  }

  // The gain of an allowed split, both sides together. Worth something only above gain_to_beat();
  // kNoGain where a monotone constraint says no.
  [[gnu::always_inline]] STRATA_HD double GainOf(const SplitSide& side, bool side_is_left) const {
    return GainOf(side, side_is_left, {leaf_.bounds, leaf_.bounds});
  }
  // The same with bounds of each child; the leaf has some where they have.
  [[gnu::always_inline]] STRATA_HD double GainOf(const SplitSide& side, bool side_is_left,
                                                 const ChildBounds& bounds) const {
    const double hessian = Hessian(side.sums.hessian) + kHessianEpsilon;
    const double gradient = Gradient(side.sums.gradient);
    const double other_gradient = Gradient(leaf_.sums.gradient - side.sums.gradient);
    const double other_hessian = hessian_ - hessian;
    const int64_t other_rows = leaf_.rows - side.rows;
    return side_is_left ? Gain(gradient, hessian, side.rows, other_gradient, other_hessian,
                               other_rows, bounds)
                        : Gain(other_gradient, other_hessian, other_rows, gradient, hessian,
                               side.rows, bounds);
  }

  // Where has_fractions(): GainOf's terms over their common denominator. Not above 0, that is none.
  [[gnu::always_inline]] STRATA_HD GainFraction FractionOf(const SplitSide& side) const {
    const double hessian = Hessian(side.sums.hessian) + kHessianEpsilon;
    const double size = SoftThreshold(Gradient(side.sums.gradient), rules_.lambda_l1);
    const double other_size =
        SoftThreshold(Gradient(leaf_.sums.gradient - side.sums.gradient), rules_.lambda_l1);
    const double weight = hessian + l2_;
    const double other_weight = hessian_ - hessian + l2_;
    return {size * size * other_weight + other_size * other_size * weight, weight * other_weight};
  }

  // Of the leaf as it is, and min_gain_to_split.
  STRATA_HD double gain_to_beat() const { return gain_to_beat_; }
  // What a split of this gain adds.
  STRATA_HD double GainAdded(double gain) const { return (gain - gain_to_beat_) * penalty_; }
  // Of a child with these sums, of so many rows (guessed).
  STRATA_HD double Output(const GradientSums& sums, int64_t rows) const {
    return Output(sums, rows, leaf_.bounds);
  }
  STRATA_HD double Output(const GradientSums& sums, int64_t rows,
                          const OutputBounds& bounds) const {
    return Clamped(LeafOutput(Gradient(sums.gradient), Hessian(sums.hessian) + kHessianEpsilon, l2_,
                              rows, rules_, leaf_.output),
                   bounds);
  }

  STRATA_HD const SplitLeaf& leaf() const { return leaf_; }
  STRATA_HD const SplitRules& rules() const { return rules_; }
  STRATA_HD const GradientUnits& units() const { return units_; }
  STRATA_HD double hessian() const { return hessian_; }
  STRATA_HD double rows_per_hessian() const { return rows_per_hessian_; }
  // Gains follow from sums alone, LeafGain of each side: outputs are neither bent nor bounded.
  STRATA_HD bool is_plain() const { return !constrained_ && !BendsOutputs(rules_); }
  // And no product of fractions leaves the range of a double: sums are of 2^32 floats.
  STRATA_HD bool has_fractions() const { return is_plain() && l2_ <= 0x1p200; }

 private:
  [[gnu::always_inline]] STRATA_HD double Gain(double left_gradient, double left_hessian,
                                               int64_t left_rows, double right_gradient,
                                               double right_hessian, int64_t right_rows,
                                               const ChildBounds& bounds) const {
    if (!constrained_) {
      return LeafGain(left_gradient, left_hessian, l2_, left_rows, rules_, leaf_.output) +
             LeafGain(right_gradient, right_hessian, l2_, right_rows, rules_, leaf_.output);
    }
    const double left = Clamped(
        LeafOutput(left_gradient, left_hessian, l2_, left_rows, rules_, leaf_.output), bounds.left);
    const double right =
        Clamped(LeafOutput(right_gradient, right_hessian, l2_, right_rows, rules_, leaf_.output),
                bounds.right);
    if ((monotone_ > 0 && left > right) || (monotone_ < 0 && left < right)) return kNoGain;
    return GainGivenOutput(left_gradient, left_hessian, l2_, rules_, left) +
           GainGivenOutput(right_gradient, right_hessian, l2_, rules_, right);
  }

  int8_t monotone_;
  double penalty_;
  SplitLeaf leaf_;
  GradientUnits units_;
  SplitRules rules_;
  double l2_;
  double hessian_;           // of the leaf
  double rows_per_hessian_;  // of the leaf
  double gain_to_beat_ = 0;
  bool constrained_ = false;  // outputs are bounded, by this feature or by earlier splits
};

// Whether a category has rows enough to be in a subset.
STRATA_HD bool IsInSubsets(const SplitJudge& judge, const GradientSums& bin) {
  return static_cast<double>(judge.RowsOf(bin)) >= judge.rules().cat_smooth;
}

// Where a category stands in the order whose prefixes are the subsets tried. Never NaN.
STRATA_HD double SubsetRatio(const SplitJudge& judge, const GradientSums& bin) {
  const double weight = judge.Hessian(bin.hessian) + judge.rules().cat_smooth;
  return weight > 0 ? judge.Gradient(bin.gradient) / weight : 0;
}

// How many categories a subset has at most, of so many.
STRATA_HD int64_t SubsetMost(int64_t categories, const SplitRules& rules) {
  const int64_t half = (categories + 1) / 2;
  return rules.max_cat_threshold < half ? rules.max_cat_threshold : half;
}

// Goes over the categories of a subset that grows by one at a time.
struct SubsetWalk {
  SplitSide left;
  int64_t group_rows = 0;

  // Takes the next category in: what its subset is. Left.rows and group_rows tell of it.
  STRATA_HD SplitVerdict Take(const SplitJudge& judge, const GradientSums& bin) {
    const SplitRules& rules = judge.rules();
    const int64_t before = left.rows;
    judge.Add(bin, &left);
    group_rows += left.rows - before;
    const double hessian = judge.Hessian(left.sums.hessian) + kHessianEpsilon;
    if (left.rows < rules.min_data_in_leaf || hessian < rules.min_sum_hessian_in_leaf) {
      return SplitVerdict::kShort;
    }
    const int64_t right_rows = judge.leaf().rows - left.rows;
    if (right_rows < rules.min_data_in_leaf || right_rows < rules.min_data_per_group) {
      return SplitVerdict::kOtherShort;
    }
    if (judge.hessian() - hessian < rules.min_sum_hessian_in_leaf) {
      return SplitVerdict::kOtherShort;
    }
    if (group_rows < rules.min_data_per_group) return SplitVerdict::kShort;
    group_rows = 0;
    return SplitVerdict::kAllowed;
  }
};

}  // namespace strata
