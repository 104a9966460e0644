#include "kernels/tree/split/split_search.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/tree/split/split_judge.h"
#include "kernels/tree/split/split_scan.h"

namespace strata {
namespace {

// Of the two sides of each threshold, from bounds by bin.
class SideBounds {
 public:
  // `missing`: a bin whose rows take either side, whatever the threshold; -1: none.
  SideBounds(std::span<const OutputBounds> by_bin, int64_t missing)
      : up_to_(by_bin.size()), above_(by_bin.size()) {
    if (missing >= 0) missing_ = by_bin[static_cast<size_t>(missing)];
    const auto of = [&](size_t bin) {
      return static_cast<int64_t>(bin) == missing ? OutputBounds() : by_bin[bin];
    };
    OutputBounds all;
    for (size_t bin = 0; bin < by_bin.size(); ++bin) up_to_[bin] = all = Narrower(all, of(bin));
    all = {};
    for (size_t bin = by_bin.size(); bin-- > 0; all = Narrower(all, of(bin))) above_[bin] = all;
  }

  ChildBounds At(size_t threshold, bool missing_left) const {
    ChildBounds bounds = {up_to_[threshold], above_[threshold]};
    OutputBounds& with_missing = missing_left ? bounds.left : bounds.right;
    with_missing = Narrower(with_missing, missing_);
    return bounds;
  }

 private:
  std::vector<OutputBounds> up_to_;  // of each bin: those of the bins up to it
  std::vector<OutputBounds> above_;
  OutputBounds missing_;
};

// What a search of one feature works with.
struct Search {
  const FeatureShape& shape;
  std::span<const GradientSums> histogram;
  const SplitJudge& judge;
  const SideBounds* bounds = nullptr;  // null: those of the leaf

  ChildBounds BoundsAt(size_t threshold, bool missing_left) const {
    if (bounds != nullptr) return bounds->At(threshold, missing_left);
    return {judge.leaf().bounds, judge.leaf().bounds};
  }
};

struct Candidate {
  double gain = -std::numeric_limits<double>::infinity();
  GradientSums left;
  int64_t left_rows = 0;
  ChildBounds bounds = {};
  uint32_t threshold = 0;
  bool default_left = true;
  bool found = false;
  bool gains = false;  // one does, be it allowed or not
};

// Whether the allowed split into `side` and the rest of the leaf is better than the best so far,
// which it then is.
[[gnu::always_inline]] inline bool Takes(const SplitJudge& judge, const SplitSide& side,
                                         bool side_is_left, const ChildBounds& bounds,
                                         Candidate* best) {
  const double gain = judge.GainOf(side, side_is_left, bounds);
  if (!(gain > judge.gain_to_beat())) return false;
  best->gains = true;
  if (!(gain > best->gain) || !bounds.can_be_kept()) return false;
  best->gain = gain;
  best->bounds = bounds;
  best->left = side_is_left ? side.sums : judge.leaf().sums - side.sums;
  best->left_rows = side_is_left ? side.rows : judge.leaf().rows - side.rows;
  best->found = true;
  return true;
}

// From the last bin down: what is passed over, missing values, goes left with the rest.
void SearchDown(const Search& search, MissingKind missing, int64_t random_bin, Candidate* best) {
  SplitSide right;
  const uint32_t bins = search.shape.bins - (missing == MissingKind::kNaN ? 1 : 0);
  for (uint32_t bin = bins; bin-- > 1;) {
    if (missing == MissingKind::kZero && bin == search.shape.default_bin) continue;
    search.judge.Add(search.histogram[bin], &right);
    if (random_bin >= 0 && bin - 1 != static_cast<uint64_t>(random_bin)) continue;
    const SplitVerdict verdict = search.judge.Judge(right);
    if (verdict == SplitVerdict::kOtherShort) return;
    if (verdict == SplitVerdict::kAllowed &&
        Takes(search.judge, right, false, search.BoundsAt(bin - 1, true), best)) {
      best->threshold = bin - 1;
      best->default_left = true;
    }
  }
}

// From the first bin up: missing values go right.
void SearchUp(const Search& search, MissingKind missing, int64_t random_bin, Candidate* best) {
  SplitSide left;
  for (uint32_t bin = 0; bin + 1 < search.shape.bins; ++bin) {
    if (missing == MissingKind::kZero && bin == search.shape.default_bin) continue;
    search.judge.Add(search.histogram[bin], &left);
    if (random_bin >= 0 && bin != static_cast<uint64_t>(random_bin)) continue;
    const SplitVerdict verdict = search.judge.Judge(left);
    if (verdict == SplitVerdict::kOtherShort) return;
    if (verdict == SplitVerdict::kAllowed &&
        Takes(search.judge, left, true, search.BoundsAt(bin, false), best)) {
      best->threshold = bin;
      best->default_left = false;
    }
  }
}

// All thresholds in one order of the bins.
void Scan(const Search& search, const BinOrder& order, Candidate* best) {
  const SplitJudge& judge = search.judge;
  const ScanResult result =
      ScanThresholds(search.histogram, order, judge, std::max(judge.gain_to_beat(), best->gain));
  if (!result.found) return;
  const bool up = order.upwards;
  *best = {.gain = result.gain,
           .left = up ? result.side : judge.leaf().sums - result.side,
           .left_rows = up ? result.rows : judge.leaf().rows - result.rows,
           .threshold = up ? result.last_bin : result.last_bin - 1,
           .default_left = !up,
           .found = true};
}

// What SearchDown and SearchUp do, where no output is bent or bounded.
void ScanBothWays(const Search& search, MissingKind missing, Candidate* best) {
  const uint32_t bins = search.shape.bins;
  const uint32_t with_values = bins - (missing == MissingKind::kNaN ? 1 : 0);
  const int64_t passed_over = missing == MissingKind::kZero ? search.shape.default_bin : -1;
  Scan(search,
       {.first = with_values - 1,
        .bins = with_values - 1,
        .upwards = false,
        .passed_over = passed_over},
       best);
  if (missing == MissingKind::kNone) return;
  Scan(search, {.first = 0, .bins = bins - 1, .upwards = true, .passed_over = passed_over}, best);
}

// The split that the candidate is, or none.
Split Finish(const Search& search, int32_t feature, const Candidate& best) {
  Split split;
  if (!best.found) return split;
  const SplitLeaf& leaf = search.judge.leaf();
  split.gain = search.judge.GainAdded(best.gain);
  split.feature = feature;
  split.threshold = best.threshold;
  split.default_left = best.default_left;
  split.left = best.left;
  split.right = leaf.sums - best.left;
  split.left_output = search.judge.Output(split.left, best.left_rows, best.bounds.left);
  split.right_output =
      search.judge.Output(split.right, leaf.rows - best.left_rows, best.bounds.right);
  split.monotone = search.shape.monotone;
  return split;
}

// A bin of missing values, which a threshold does not part from others; -1: there is none.
int64_t BinApart(const FeatureShape& shape, MissingKind apart) {
  if (apart == MissingKind::kNaN) return int64_t{shape.bins} - 1;
  return apart == MissingKind::kZero ? int64_t{shape.default_bin} : -1;
}

Split SearchNumeric(Search search, std::span<const OutputBounds> bounds, int32_t feature,
                    int64_t random_bin, bool* gains) {
  Candidate best;
  const MissingKind missing = search.shape.missing;
  const bool both_ways = search.shape.bins > 2 && missing != MissingKind::kNone;
  const MissingKind apart = both_ways ? missing : MissingKind::kNone;
  std::optional<SideBounds> by_side;
  if (!bounds.empty()) search.bounds = &by_side.emplace(bounds, BinApart(search.shape, apart));
  if (random_bin < 0 && search.judge.is_plain()) {
    ScanBothWays(search, apart, &best);
  } else {
    SearchDown(search, apart, random_bin, &best);
    if (both_ways) SearchUp(search, apart, random_bin, &best);
  }
  if (!both_ways && missing == MissingKind::kNaN) best.default_left = false;
  if (gains != nullptr) *gains = best.gains || best.found;
  return Finish(search, feature, best);
}

// One category on the left, the others on the right. Bin 0 holds the rest and missing values: it
// never is on the left.
void SearchOneHot(const Search& search, int64_t random_bin, Candidate* best) {
  for (uint32_t bin = 1; bin < search.shape.bins; ++bin) {
    if (random_bin >= 0 && bin != static_cast<uint64_t>(random_bin)) continue;
    SplitSide left;
    search.judge.Add(search.histogram[bin], &left);
    if (search.judge.Judge(left) == SplitVerdict::kAllowed &&
        Takes(search.judge, left, true, search.BoundsAt(bin, false), best)) {
      best->threshold = bin;
    }
  }
}

// Categories in the order of gradient over hessian, from both ends: one of the prefixes of that
// order is the best subset (W. Fisher, "On grouping for maximum homogeneity", JASA 1958).
std::vector<uint32_t> SearchSubsets(const Search& search, int64_t random_prefix, Candidate* best) {
  const SplitJudge& judge = search.judge;
  std::vector<uint32_t> order;
  for (uint32_t bin = 1; bin < search.shape.bins; ++bin) {
    if (IsInSubsets(judge, search.histogram[bin])) order.push_back(bin);
  }
  const auto ratio = [&](uint32_t bin) { return SubsetRatio(judge, search.histogram[bin]); };
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return ratio(a) < ratio(b); });
  const size_t used = order.size();
  const auto most = static_cast<size_t>(SubsetMost(static_cast<int64_t>(used), judge.rules()));
  std::vector<uint32_t> chosen;
  for (const bool from_front : {true, false}) {
    SubsetWalk walk;
    for (size_t i = 0; i < used && i < most; ++i) {
      const uint32_t bin = order[from_front ? i : used - 1 - i];
      const SplitVerdict verdict = walk.Take(judge, search.histogram[bin]);
      if (verdict == SplitVerdict::kOtherShort) break;
      if (verdict == SplitVerdict::kShort) continue;
      if (random_prefix >= 0 && i != static_cast<size_t>(random_prefix) % most) continue;
      if (!Takes(judge, walk.left, true, search.BoundsAt(bin, false), best)) continue;
      chosen.clear();
      for (size_t j = 0; j <= i; ++j) chosen.push_back(order[from_front ? j : used - 1 - j]);
    }
  }
  return chosen;
}

Split SearchCategorical(const Search& search, int32_t feature, int64_t random_bin) {
  Candidate best;
  const SplitRules& rules = search.judge.rules();
  const bool one_hot = search.shape.bins <= static_cast<uint32_t>(rules.max_cat_to_onehot);
  const SplitJudge judge = search.judge.WithMoreL2(one_hot ? 0 : rules.cat_l2);
  const Search plain{search.shape, search.histogram, judge};
  std::vector<uint32_t> left_bins;
  if (one_hot) {
    SearchOneHot(plain, random_bin, &best);
    left_bins = {best.threshold};
  } else {
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
                    const GradientUnits& units, const SplitRules& rules, int64_t random_bin,
                    std::span<const OutputBounds> bounds, bool* gains) {
  if (shape.bins < 2) return {};
  SplitLeaf bounded = leaf;
  for (const OutputBounds& bin : bounds) bounded.bounds = Narrower(bounded.bounds, bin);
  const SplitJudge judge(shape, bounded, units, rules);
  const Search search{shape, histogram, judge};
  if (!shape.categorical) return SearchNumeric(search, bounds, feature, random_bin, gains);
  Split split = SearchCategorical(search, feature, random_bin);
  if (gains != nullptr) *gains = split.exists();
  return split;
}

Split SplitAtBin(const FeatureShape& shape, int32_t feature,
                 std::span<const GradientSums> histogram, const SplitLeaf& leaf,
                 const GradientUnits& units, const SplitRules& rules, uint32_t bin) {
  if (bin >= shape.bins || (shape.categorical && bin == 0)) return {};
  const SplitJudge judge(shape, leaf, units, rules);
  Candidate candidate;
  SplitSide side;
  for (uint32_t b = 0; b < shape.bins; ++b) {
    if (IsLeftOfBin(shape, bin, b) == shape.categorical) judge.Add(histogram[b], &side);
  }
  candidate.gain = judge.GainOf(side, shape.categorical);
  const double gain_to_beat = GainGivenOutput(judge.Gradient(leaf.sums.gradient), judge.hessian(),
                                              rules.lambda_l2, rules, leaf.output) +
                              rules.min_gain_to_split;
  if (!(candidate.gain > gain_to_beat)) return {};
  candidate.found = true;
  candidate.bounds = {leaf.bounds, leaf.bounds};
  candidate.left = shape.categorical ? side.sums : leaf.sums - side.sums;
  candidate.left_rows = shape.categorical ? side.rows : leaf.rows - side.rows;
  candidate.threshold = bin;
  candidate.default_left = !shape.categorical;
  Split split = Finish({shape, histogram, judge}, feature, candidate);
  split.gain = candidate.gain - gain_to_beat;
  split.categorical = shape.categorical;
  if (shape.categorical) split.left_bins = {bin};
  return split;
}

}  // namespace strata
