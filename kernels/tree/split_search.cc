#include "kernels/tree/split_search.h"

#include <algorithm>
#include <limits>

namespace strata {
namespace {

// What a search of one feature works with.
struct Search {
  const FeatureShape& shape;
  std::span<const GradientSums> histogram;
  const SplitLeaf& leaf;
  const GradientUnits& units;
  const SplitRules& rules;
  double l2;
  double hessian;           // of the leaf
  double rows_per_hessian;  // of the leaf
  double gain_to_beat;      // of the leaf as it is, and min_gain_to_split
  bool constrained;         // outputs are bounded, by this feature or by earlier splits

  double Gradient(int64_t sum) const { return static_cast<double>(sum) * units.gradient; }
  double Hessian(int64_t sum) const { return static_cast<double>(sum) * units.hessian; }

  double Output(const GradientSums& sums, int64_t rows, double side_l2) const {
    return Clamped(LeafOutput(Gradient(sums.gradient), Hessian(sums.hessian) + kHessianEpsilon,
                              side_l2, rows, rules, leaf.output),
                   leaf.bounds);
  }

  // Of both sides together; minus infinity where a monotone constraint says no.
  [[gnu::always_inline]] double Gain(double left_gradient, double left_hessian, int64_t left_rows,
                                     double right_gradient, double right_hessian,
                                     int64_t right_rows) const {
    if (!constrained) {
      return LeafGain(left_gradient, left_hessian, l2, left_rows, rules, leaf.output) +
             LeafGain(right_gradient, right_hessian, l2, right_rows, rules, leaf.output);
    }
    const double left = Clamped(
        LeafOutput(left_gradient, left_hessian, l2, left_rows, rules, leaf.output), leaf.bounds);
    const double right = Clamped(
        LeafOutput(right_gradient, right_hessian, l2, right_rows, rules, leaf.output), leaf.bounds);
    if ((shape.monotone > 0 && left > right) || (shape.monotone < 0 && left < right)) return 0;
    return GainGivenOutput(left_gradient, left_hessian, l2, rules, left) +
           GainGivenOutput(right_gradient, right_hessian, l2, rules, right);
  }
};

struct Candidate {
  double gain;
  GradientSums left;
  int64_t left_rows = 0;
  uint32_t threshold = 0;
  bool default_left = true;
  bool found = false;
};

// One side's sums while a pass goes over the bins.
struct Side {
  GradientSums sums;
  int64_t rows = 0;
};

enum class Verdict : uint8_t { kGoOn, kStop, kTaken };

// Judges the split into `side` and the rest of the leaf. Inlined: it is what a search consists of.
[[gnu::always_inline]] inline Verdict Judge(const Search& search, const Side& side,
                                            bool side_is_left, Candidate* best) {
  const SplitRules& rules = search.rules;
  const double hessian = search.Hessian(side.sums.hessian) + kHessianEpsilon;
  if (side.rows < rules.min_data_in_leaf || hessian < rules.min_sum_hessian_in_leaf) {
    return Verdict::kGoOn;
  }
  const int64_t other_rows = search.leaf.rows - side.rows;
  const double other_hessian = search.hessian - hessian;
  if (other_rows < rules.min_data_in_leaf || other_hessian < rules.min_sum_hessian_in_leaf) {
    return Verdict::kStop;
  }
  const double gradient = search.Gradient(side.sums.gradient);
  const double other_gradient = search.Gradient(search.leaf.sums.gradient - side.sums.gradient);
  const double gain =
      side_is_left
          ? search.Gain(gradient, hessian, side.rows, other_gradient, other_hessian, other_rows)
          : search.Gain(other_gradient, other_hessian, other_rows, gradient, hessian, side.rows);
  if (!(gain > search.gain_to_beat) || !(gain > best->gain)) return Verdict::kGoOn;
  best->gain = gain;
  best->left = side_is_left ? side.sums : search.leaf.sums - side.sums;
  best->left_rows = side_is_left ? side.rows : other_rows;
  best->found = true;
  return Verdict::kTaken;
}

[[gnu::always_inline]] inline void Add(const Search& search, uint32_t bin, Side* side) {
  side->sums += search.histogram[bin];
  side->rows +=
      RowsFromHessian(search.Hessian(search.histogram[bin].hessian), search.rows_per_hessian);
}

// From the last bin down: what is passed over, missing values, goes left with the rest.
void SearchDown(const Search& search, MissingKind missing, int64_t random_bin, Candidate* best) {
  Side right;
  const uint32_t bins = search.shape.bins - (missing == MissingKind::kNaN ? 1 : 0);
  for (uint32_t bin = bins; bin-- > 1;) {
    if (missing == MissingKind::kZero && bin == search.shape.default_bin) continue;
    Add(search, bin, &right);
    if (random_bin >= 0 && bin - 1 != static_cast<uint64_t>(random_bin)) continue;
    const Verdict verdict = Judge(search, right, false, best);
    if (verdict == Verdict::kStop) return;
    if (verdict == Verdict::kTaken) {
      best->threshold = bin - 1;
      best->default_left = true;
    }
  }
}

// From the first bin up: missing values go right.
void SearchUp(const Search& search, MissingKind missing, int64_t random_bin, Candidate* best) {
  Side left;
  for (uint32_t bin = 0; bin + 1 < search.shape.bins; ++bin) {
    if (missing == MissingKind::kZero && bin == search.shape.default_bin) continue;
    Add(search, bin, &left);
    if (random_bin >= 0 && bin != static_cast<uint64_t>(random_bin)) continue;
    const Verdict verdict = Judge(search, left, true, best);
    if (verdict == Verdict::kStop) return;
    if (verdict == Verdict::kTaken) {
      best->threshold = bin;
      best->default_left = false;
    }
  }
}

// The split that the candidate is, or none.
Split Finish(const Search& search, int32_t feature, const Candidate& best) {
  Split split;
  if (!best.found) return split;
  split.gain = (best.gain - search.gain_to_beat) * search.shape.penalty;
  split.feature = feature;
  split.threshold = best.threshold;
  split.default_left = best.default_left;
  split.left = best.left;
  split.right = search.leaf.sums - best.left;
  split.left_output = search.Output(split.left, best.left_rows, search.l2);
  split.right_output = search.Output(split.right, search.leaf.rows - best.left_rows, search.l2);
  split.monotone = search.shape.monotone;
  return split;
}

Split SearchNumeric(const Search& search, int32_t feature, int64_t random_bin) {
  Candidate best{.gain = -std::numeric_limits<double>::infinity(), .left = {}};
  const MissingKind missing = search.shape.missing;
  if (search.shape.bins > 2 && missing != MissingKind::kNone) {
    SearchDown(search, missing, random_bin, &best);
    SearchUp(search, missing, random_bin, &best);
  } else {
    SearchDown(search, MissingKind::kNone, random_bin, &best);
    if (missing == MissingKind::kNaN) best.default_left = false;
  }
  return Finish(search, feature, best);
}

// One category on the left, the others on the right. Bin 0 holds the rest and missing values: it
// never is on the left.
void SearchOneHot(const Search& search, int64_t random_bin, Candidate* best) {
  for (uint32_t bin = 1; bin < search.shape.bins; ++bin) {
    if (random_bin >= 0 && bin != static_cast<uint64_t>(random_bin)) continue;
    Side left;
    Add(search, bin, &left);
    if (Judge(search, left, true, best) == Verdict::kTaken) best->threshold = bin;
  }
}

// Categories in the order of gradient over hessian, from both ends: one of the prefixes of that
// order is the best subset (W. Fisher, "On grouping for maximum homogeneity", JASA 1958).
std::vector<uint32_t> SearchSubsets(const Search& search, int64_t random_prefix, Candidate* best) {
  const SplitRules& rules = search.rules;
  std::vector<uint32_t> order;
  for (uint32_t bin = 1; bin < search.shape.bins; ++bin) {
    const double hessian = search.Hessian(search.histogram[bin].hessian);
    if (static_cast<double>(RowsFromHessian(hessian, search.rows_per_hessian)) >=
        rules.cat_smooth) {
      order.push_back(bin);
    }
  }
  const auto ratio = [&](uint32_t bin) {
    return search.Gradient(search.histogram[bin].gradient) /
           (search.Hessian(search.histogram[bin].hessian) + rules.cat_smooth);
  };
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return ratio(a) < ratio(b); });
  const size_t used = order.size();
  const size_t most =
      std::min<size_t>(static_cast<size_t>(rules.max_cat_threshold), (used + 1) / 2);
  std::vector<uint32_t> chosen;
  for (const bool from_front : {true, false}) {
    Side left;
    int64_t group_rows = 0;
    for (size_t i = 0; i < used && i < most; ++i) {
      const uint32_t bin = order[from_front ? i : used - 1 - i];
      const int64_t before = left.rows;
      Add(search, bin, &left);
      group_rows += left.rows - before;
      const double hessian = search.Hessian(left.sums.hessian) + kHessianEpsilon;
      if (left.rows < rules.min_data_in_leaf || hessian < rules.min_sum_hessian_in_leaf) continue;
      const int64_t right_rows = search.leaf.rows - left.rows;
      if (right_rows < rules.min_data_in_leaf || right_rows < rules.min_data_per_group) break;
      if (search.hessian - hessian < rules.min_sum_hessian_in_leaf) break;
      if (group_rows < rules.min_data_per_group) continue;
      group_rows = 0;
      if (random_prefix >= 0 && i != static_cast<size_t>(random_prefix) % most) continue;
      if (Judge(search, left, true, best) != Verdict::kTaken) continue;
      chosen.clear();
      for (size_t j = 0; j <= i; ++j) chosen.push_back(order[from_front ? j : used - 1 - j]);
    }
  }
  return chosen;
}

Split SearchCategorical(const Search& search, int32_t feature, int64_t random_bin) {
  Candidate best{.gain = -std::numeric_limits<double>::infinity(), .left = {}};
  std::vector<uint32_t> left_bins;
  Search plain = search;
  if (search.shape.bins <= static_cast<uint32_t>(search.rules.max_cat_to_onehot)) {
    SearchOneHot(search, random_bin, &best);
    left_bins = {best.threshold};
  } else {
    plain.l2 += search.rules.cat_l2;
    left_bins = SearchSubsets(plain, random_bin, &best);
  }
  best.default_left = false;
  Split split = Finish(plain, feature, best);
  split.categorical = true;
  split.monotone = 0;
  if (split.exists()) split.left_bins = std::move(left_bins);
  return split;
}

}  // namespace

bool IsBetter(const Split& a, const Split& b) {
  if (a.gain != b.gain) return a.gain > b.gain;
  if (!a.exists()) return false;
  return a.feature < b.feature;
}

Split FindBestSplit(const FeatureShape& shape, int32_t feature,
                    std::span<const GradientSums> histogram, const SplitLeaf& leaf,
                    const GradientUnits& units, const SplitRules& rules, int64_t random_bin) {
  const double gradient = static_cast<double>(leaf.sums.gradient) * units.gradient;
  const double hessian =
      static_cast<double>(leaf.sums.hessian) * units.hessian + 2 * kHessianEpsilon;
  const double own_gain =
      BendsOutputs(rules)
          ? GainGivenOutput(gradient, hessian, rules.lambda_l2, rules, leaf.output)
          : LeafGain(gradient, hessian, rules.lambda_l2, leaf.rows, rules, leaf.output);
  const Search search{.shape = shape,
                      .histogram = histogram,
                      .leaf = leaf,
                      .units = units,
                      .rules = rules,
                      .l2 = rules.lambda_l2,
                      .hessian = hessian,
                      .rows_per_hessian = static_cast<double>(leaf.rows) / hessian,
                      .gain_to_beat = own_gain + rules.min_gain_to_split,
                      .constrained = shape.monotone != 0 || leaf.bounds.min > OutputBounds{}.min ||
                                     leaf.bounds.max < OutputBounds{}.max};
  if (shape.bins < 2) return {};
  return shape.categorical ? SearchCategorical(search, feature, random_bin)
                           : SearchNumeric(search, feature, random_bin);
}

}  // namespace strata
