#include "worker/gbdt/grower/leaf_neighbours.h"

#include <algorithm>

namespace strata {
namespace {

class Walk {
 public:
  Walk(std::span<const FeatureShape> shapes, const GrownTree& tree,
       const std::function<void(const Neighbour&)>& visit)
      : shapes_(shapes), tree_(tree), visit_(visit) {}

  void Up(const GrownLeaf& leaf, std::span<const GrownLeaf> before) {
    for (const GrownLeaf* from = &leaf; from->parent >= 0;
         from = &before[static_cast<size_t>(from->parent)]) {
      const GrownNode& node = tree_.nodes[static_cast<size_t>(from->parent)];
      const Split& split = node.split;
      if (split.monotone != 0 && !IsBehindOther(split, from->is_left)) {
        feature_ = split.feature;
        is_above_ = (split.monotone > 0) == from->is_left;
        Down(from->is_left ? node.right : node.left, LeafBox());
      }
      passed_.push_back({&split, from->is_left});
      own_ = own_.Narrowed(split, from->is_left, shapes_);
    }
  }

 private:
  struct Passed {
    const Split* split;
    bool is_left;
  };

  // Whether leaves on the other side of the split do not touch, as there are others between: those
  // on the other side of a split below it, of the same feature and side, which have values between.
  bool IsBehindOther(const Split& split, bool is_left) const {
    return std::ranges::any_of(passed_, [&](const Passed& passed) {
      if (passed.split->feature != split.feature || passed.is_left != is_left) return false;
      const int64_t nearer = passed.split->threshold;
      const int64_t farther = split.threshold;
      const BinRange all = AllBins(split.feature, shapes_[static_cast<size_t>(split.feature)]);
      return all.HasValuesIn(is_left ? nearer : farther, is_left ? farther : nearer);
    });
  }

  // All leaves below a node or leaf, whose rows have this.
  void Down(int32_t at, const LeafBox& box) {
    if (!box.Overlaps(own_)) return;
    if (at < 0) {
      visit_({.leaf = static_cast<size_t>(~at),
              .box = box,
              .own_box = own_,
              .feature = feature_,
              .is_above = is_above_});
      return;
    }
    const GrownNode& node = tree_.nodes[static_cast<size_t>(at)];
    Down(node.left, box.Narrowed(node.split, true, shapes_));
    Down(node.right, box.Narrowed(node.split, false, shapes_));
  }

  const std::span<const FeatureShape> shapes_;
  const GrownTree& tree_;
  const std::function<void(const Neighbour&)>& visit_;
  LeafBox own_;  // what rows of the place have below where the walk is
  std::vector<Passed> passed_;
  int32_t feature_ = 0;
  bool is_above_ = false;
};

}  // namespace

BinRange BinRange::Narrowed(const Split& split, bool is_left) const {
  BinRange narrowed = *this;
  if (is_left) {
    narrowed.high = std::min<int64_t>(high, split.threshold);
  } else {
    narrowed.low = std::max<int64_t>(low, split.threshold);
  }
  narrowed.missing = missing && split.default_left == is_left;
  return narrowed;
}

BinRange BinRange::Common(const BinRange& other) const {
  BinRange common = *this;
  common.low = std::max(low, other.low);
  common.high = std::min(high, other.high);
  common.missing = missing && other.missing;
  return common;
}

BinRange AllBins(int32_t feature, const FeatureShape& shape) {
  BinRange all = {.feature = feature, .high = int64_t{shape.bins} - 1};
  if (shape.missing == MissingKind::kNone) return all;
  all.missing = true;
  const bool is_last = shape.missing == MissingKind::kNaN;
  all.missing_bin = is_last ? all.high : int64_t{shape.default_bin};
  if (is_last) --all.high;
  return all;
}

LeafBox LeafBox::Narrowed(const Split& split, bool is_left,
                          std::span<const FeatureShape> shapes) const {
  LeafBox narrowed = *this;
  if (split.categorical) return narrowed;
  const auto range = std::ranges::find(narrowed.ranges_, split.feature, &BinRange::feature);
  if (range != narrowed.ranges_.end()) {
    *range = range->Narrowed(split, is_left);
  } else {
    const BinRange all = AllBins(split.feature, shapes[static_cast<size_t>(split.feature)]);
    narrowed.ranges_.push_back(all.Narrowed(split, is_left));
  }
  return narrowed;
}

bool LeafBox::Overlaps(const LeafBox& other) const {
  return std::ranges::all_of(ranges_, [&](const BinRange& range) {
    const BinRange* const others = other.Find(range.feature);
    return others == nullptr || !range.Common(*others).empty();
  });
}

LeafBox LeafBox::Within(const LeafBox& other) const {
  LeafBox within = *this;
  for (BinRange& range : within.ranges_) {
    const BinRange* const others = other.Find(range.feature);
    if (others != nullptr) range = range.Common(*others);
  }
  return within;
}

const BinRange* LeafBox::Find(int32_t feature) const {
  const auto found = std::ranges::find(ranges_, feature, &BinRange::feature);
  return found == ranges_.end() ? nullptr : &*found;
}

LeafBox BoxOf(std::span<const FeatureShape> shapes, std::span<const GrownLeaf> before,
              const GrownTree& tree, const GrownLeaf& leaf) {
  LeafBox box;
  for (const GrownLeaf* from = &leaf; from->parent >= 0;
       from = &before[static_cast<size_t>(from->parent)]) {
    box = box.Narrowed(tree.nodes[static_cast<size_t>(from->parent)].split, from->is_left, shapes);
  }
  return box;
}

void VisitNeighbours(std::span<const FeatureShape> shapes, std::span<const GrownLeaf> before,
                     const GrownTree& tree, const GrownLeaf& leaf,
                     const std::function<void(const Neighbour&)>& visit) {
  Walk(shapes, tree, visit).Up(leaf, before);
}

}  // namespace strata
