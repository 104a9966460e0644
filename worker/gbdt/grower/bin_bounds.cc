#include "worker/gbdt/grower/bin_bounds.h"

#include <algorithm>

#include "worker/gbdt/grower/leaf_neighbours.h"

namespace strata {
namespace {

void BoundFrom(bool below, double output, OutputBounds* bounds) {
  if (below) {
    bounds->min = std::max(bounds->min, output);
  } else {
    bounds->max = std::min(bounds->max, output);
  }
}

// A leaf that bounds another one.
struct Bound {
  LeafBox box;      // of what that one's rows have, what this one's have, too
  int32_t parting;  // the feature of the split that parts them: it bounds whatever bin rows have
  double output;
};

// A leaf's bounds of the feature, anew.
void RenewFeature(int32_t feature, std::span<const Bound> bounds, bool below,
                  std::span<OutputBounds> bins) {
  OutputBounds of_all;
  for (const Bound& bound : bounds) {
    if (bound.parting == feature || bound.box.Find(feature) == nullptr) {
      BoundFrom(below, bound.output, &of_all);
    }
  }
  for (OutputBounds& bin : bins) {
    if (below) {
      bin.min = of_all.min;
    } else {
      bin.max = of_all.max;
    }
  }
  for (const Bound& bound : bounds) {
    const BinRange* const range = bound.box.Find(feature);
    if (bound.parting == feature || range == nullptr) continue;
    range->ForBins([&](size_t bin) { BoundFrom(below, bound.output, &bins[bin]); });
  }
}

}  // namespace

std::vector<OutputBounds>& BinBounds::Needed(size_t leaf) {
  of_leaf_[leaf].resize(bins_.histogram_bins());
  return of_leaf_[leaf];
}

OutputBounds BinBounds::OfSide(size_t leaf, const Split& split, bool is_left) const {
  OutputBounds bounds;
  const auto feature = static_cast<size_t>(split.feature);
  const std::span<const OutputBounds> bins = Of(leaf, feature);
  if (bins.empty()) return bounds;
  AllBins(split.feature, shapes_[feature]).Narrowed(split, is_left).ForBins([&](size_t bin) {
    bounds = Narrower(bounds, bins[bin]);
  });
  return bounds;
}

void BinBounds::SplitLeaf(size_t leaf, const Split& split) {
  const size_t right = of_leaf_.size();
  of_leaf_.push_back(of_leaf_[leaf]);
  if (split.monotone == 0) return;
  const bool rises = split.monotone > 0;
  for (OutputBounds& bin : Needed(leaf)) BoundFrom(!rises, split.right_output, &bin);
  for (OutputBounds& bin : Needed(right)) BoundFrom(rises, split.left_output, &bin);
}

void BinBounds::Renew(std::span<const BoundedLeaf> leaves, std::span<const GrownLeaf> before,
                      const GrownTree& tree, std::span<const uint8_t> used) {
  std::vector<std::vector<Bound>> bounds(leaves.size());
  pool_.Run(leaves.size(), [&](size_t i) {
    const GrownLeaf& leaf = tree.leaves[leaves[i].leaf];
    const LeafBox box = BoxOf(shapes_, before, tree, leaf);
    VisitNeighbours(shapes_, before, tree, leaf, [&](const Neighbour& by) {
      if (by.is_above == leaves[i].from_below) return;
      bounds[i].push_back({.box = by.box.Within(box),
                           .parting = by.feature,
                           .output = tree.leaves[by.leaf].leaf.output});
    });
    Needed(leaves[i].leaf);
  });
  pool_.Run(shapes_.size(), [&](size_t f) {
    if (used[f] == 0 || shapes_[f].categorical) return;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const auto bins =
          std::span(of_leaf_[leaves[i].leaf]).subspan(bins_.histogram_begin(f), shapes_[f].bins);
      RenewFeature(static_cast<int32_t>(f), bounds[i], leaves[i].from_below, bins);
    }
  });
}

std::span<const OutputBounds> BinBounds::Of(size_t leaf, size_t feature) const {
  if (of_leaf_[leaf].empty() || shapes_[feature].categorical) return {};
  return std::span(of_leaf_[leaf]).subspan(bins_.histogram_begin(feature), shapes_[feature].bins);
}

}  // namespace strata
