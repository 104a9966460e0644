// The splits that a tree begins with (forcedsplits_filename).
#include <deque>

#include "worker/gbdt/grower/grower.h"

namespace strata {
namespace {

constexpr std::string_view kNoRowLeft = "no row of its leaf is on the left side";
constexpr std::string_view kNoRowRight = "no row of its leaf is on the right side";

// Why there is no split at a bin of this histogram.
std::string_view WhyNone(const FeatureShape& shape, uint32_t bin,
                         std::span<const GradientSums> histogram) {
  bool has_left = false;
  bool has_right = false;
  for (uint32_t b = 0; b < histogram.size(); ++b) {
    if (histogram[b].gradient == 0 && histogram[b].hessian == 0) continue;
    (IsLeftOfBin(shape, bin, b) ? has_left : has_right) = true;
  }
  if (!has_left) return kNoRowLeft;
  return has_right ? "it gains nothing" : kNoRowRight;
}

}  // namespace

// Level by level.
void LeafWiseGrower::ForceSplits() {
  struct Due {
    int32_t forced;
    size_t leaf;
  };
  forced_nodes_ = 0;
  std::deque<Due> due;
  if (!options_.forced.empty()) due.push_back({0, 0});
  for (; !due.empty(); due.pop_front()) {
    const size_t leaf = due.front().leaf;
    const ForcedSplit& forced = options_.forced[static_cast<size_t>(due.front().forced)];
    const std::vector<GradientSums> histogram = ForcedHistogram(forced, leaf);
    Split split =
        SplitAtBin(shapes_[forced.feature], static_cast<int32_t>(forced.feature), histogram,
                   tree_.leaves[leaf].leaf, units_, options_.rules, forced.bin);
    const auto end = [&](std::string_view why) {
      if (options_.unmade) options_.unmade(static_cast<size_t>(due.front().forced), why);
    };
    if (!split.exists()) return end(WhyNone(shapes_[forced.feature], forced.bin, histogram));
    std::swap(open_[leaf].best, split);
    const Lefts left = PartitionLeaves({&leaf, 1});
    if (left.of_all[0] == 0 || left.of_all[0] == tree_.leaves[leaf].leaf.rows) {
      open_[leaf].best = std::move(split);  // what it was; nothing has moved
      return end(left.of_all[0] == 0 ? kNoRowLeft : kNoRowRight);
    }
    NeedHistogram(leaf);
    const size_t right = tree_.leaves.size();
    TakeSplits({&leaf, 1}, left);
    forced_nodes_ = tree_.nodes.size();
    if (forced.left >= 0) due.push_back({forced.left, leaf});
    if (forced.right >= 0) due.push_back({forced.right, right});
  }
}

// For its children, in a leaf that no search would have split.
void LeafWiseGrower::NeedHistogram(size_t at) {
  if (open_[at].histogram != nullptr) return;
  open_[at].histogram = TakeHistogram();
  Histogram& histogram = *open_[at].histogram;
  const GrownLeaf& leaf = tree_.leaves[at];
  const LeafHistogram wanted = {.leaf = {leaf.begin, leaf.count}, .histogram = histogram};
  BuildHistograms({&wanted, 1});
  if (exchange_.sums_histograms()) {
    const SummedLeaf built = {.rows = leaf.leaf.rows, .histogram = histogram};
    return exchange_.SumHistograms({&built, 1});
  }
  if (BuildsWhole()) return;
  for (size_t f = 0; f < bins_.features(); ++f) {
    if (feature_used_[f] != 0) work_.Finish(bins_.histogram_begin(f), bins_.bins(f), histogram);
  }
}

// From the leaf's rows: a histogram may be missing of a feature that the tree has not.
std::vector<GradientSums> LeafWiseGrower::ForcedHistogram(const ForcedSplit& forced, size_t at) {
  const GrownLeaf& leaf = tree_.leaves[at];
  std::vector<GradientSums> histogram = work_.SumsOf({leaf.begin, leaf.count}, forced.feature);
  std::vector<int64_t> numbers;
  for (const GradientSums& bin : histogram) {
    numbers.push_back(bin.gradient);
    numbers.push_back(bin.hessian);
  }
  SumOverRanks(numbers);
  for (size_t bin = 0; bin < histogram.size(); ++bin) {
    histogram[bin] = {numbers[2 * bin], numbers[2 * bin + 1]};
  }
  return histogram;
}

}  // namespace strata
