#include "worker/gbdt/grower/monotone_neighbours.h"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

// Of a feature, what rows have that take one way: bins above `low` and up to `high`, but for that
// of missing values.
struct Range {
  int32_t feature = 0;
  int64_t low = -1;
  int64_t high = 0;
  bool missing = false;      // and no value
  int64_t passed_over = -1;  // a bin among the others that holds missing values; -1: none

  bool Overlaps(const Range& other) const {
    const int64_t above = std::max(low, other.low);
    const int64_t up_to = std::min(high, other.high);
    const int64_t bins = up_to - above - (above < passed_over && passed_over <= up_to ? 1 : 0);
    return bins > 0 || (missing && other.missing);
  }
};

Range AllOf(int32_t feature, const FeatureShape& shape) {
  return {.feature = feature,
          .high = int64_t{shape.bins} - (shape.missing == MissingKind::kNaN ? 2 : 1),
          .missing = shape.missing != MissingKind::kNone,
          .passed_over = shape.missing == MissingKind::kZero ? int64_t{shape.default_bin} : -1};
}

// What rows have that take one way down from a node. Sets of categories do not narrow it.
class Box {
 public:
  Box Narrowed(const Split& split, bool is_left, std::span<const FeatureShape> shapes) const {
    Box narrowed = *this;
    if (!split.categorical) narrowed.Narrow(split, is_left, shapes);
    return narrowed;
  }

  bool Overlaps(const Box& other) const {
    return std::ranges::all_of(ranges_, [&](const Range& a) {
      const auto b = std::ranges::find(other.ranges_, a.feature, &Range::feature);
      return b == other.ranges_.end() || a.Overlaps(*b);
    });
  }

 private:
  void Narrow(const Split& split, bool is_left, std::span<const FeatureShape> shapes) {
    auto range = std::ranges::find(ranges_, split.feature, &Range::feature);
    if (range == ranges_.end()) {
      ranges_.push_back(AllOf(split.feature, shapes[static_cast<size_t>(split.feature)]));
      range = ranges_.end() - 1;
    }
    if (is_left) {
      range->high = std::min<int64_t>(range->high, split.threshold);
    } else {
      range->low = std::max<int64_t>(range->low, split.threshold);
    }
    range->missing = range->missing && split.default_left == is_left;
  }

  std::vector<Range> ranges_;
};

class Walk {
 public:
  Walk(std::span<const FeatureShape> shapes, std::span<const GrownLeaf> before, GrownTree* tree)
      : shapes_(shapes),
        before_(before),
        tree_(*tree),
        node_(static_cast<int32_t>(tree->nodes.size()) - 1),
        left_(Box().Narrowed(SplitOf(node_), true, shapes)),
        right_(Box().Narrowed(SplitOf(node_), false, shapes)) {}

  // From the node to the root: `left_` and `right_` are what its children's rows have below where
  // the walk is.
  std::vector<size_t> Run() {
    for (int32_t at = node_; before_[static_cast<size_t>(at)].parent >= 0;) {
      const bool is_left = before_[static_cast<size_t>(at)].is_left;
      at = before_[static_cast<size_t>(at)].parent;
      const GrownNode& node = tree_.nodes[static_cast<size_t>(at)];
      const std::pair<int32_t, bool> side = {node.split.feature, is_left};
      // Behind a split of the same feature and side come leaves that do not touch.
      if (node.split.monotone != 0 && std::ranges::count(passed_, side) == 0) {
        is_upper_ = (node.split.monotone > 0) == is_left;
        Down(is_left ? node.right : node.left, Box());
      }
      passed_.push_back(side);
      left_ = left_.Narrowed(node.split, is_left, shapes_);
      right_ = right_.Narrowed(node.split, is_left, shapes_);
    }
    std::ranges::sort(changed_);
    changed_.erase(std::ranges::unique(changed_).begin(), changed_.end());
    return std::move(changed_);
  }

 private:
  const Split& SplitOf(int32_t at) const { return tree_.nodes[static_cast<size_t>(at)].split; }

  // All leaves below a node or leaf, whose rows have this.
  void Down(int32_t at, const Box& box) {
    const bool touches_left = box.Overlaps(left_);
    const bool touches_right = box.Overlaps(right_);
    if (!touches_left && !touches_right) return;
    if (at < 0) return Bound(static_cast<size_t>(~at), touches_left, touches_right);
    const GrownNode& node = tree_.nodes[static_cast<size_t>(at)];
    Down(node.left, box.Narrowed(node.split, true, shapes_));
    Down(node.right, box.Narrowed(node.split, false, shapes_));
  }

  void Bound(size_t leaf, bool touches_left, bool touches_right) {
    OutputBounds& bounds = tree_.leaves[leaf].leaf.bounds;
    const OutputBounds were = bounds;
    for (const auto& [touches, output] : {std::pair(touches_left, SplitOf(node_).left_output),
                                          std::pair(touches_right, SplitOf(node_).right_output)}) {
      if (!touches) continue;
      if (is_upper_) {
        bounds.min = std::max(bounds.min, output);
      } else {
        bounds.max = std::min(bounds.max, output);
      }
    }
    if (bounds.min > were.min || bounds.max < were.max) changed_.push_back(leaf);
  }

  const std::span<const FeatureShape> shapes_;
  const std::span<const GrownLeaf> before_;
  GrownTree& tree_;
  const int32_t node_;
  Box left_;
  Box right_;
  std::vector<std::pair<int32_t, bool>> passed_;  // features of splits, and whether it was left
  bool is_upper_ = false;                         // of leaves that are bounded from below
  std::vector<size_t> changed_;
};

}  // namespace

std::vector<size_t> BoundNeighbours(std::span<const FeatureShape> shapes,
                                    std::span<const GrownLeaf> before, GrownTree* tree) {
  return Walk(shapes, before, tree).Run();
}

}  // namespace strata
