// Trees of a model laid out for the prediction of many rows: nodes of 16 bytes, two children side
// by side, leaves that lead to themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/core/math.h"
#include "kernels/tree/bins/category.h"
#include "kernels/tree/split/feature_shape.h"
#include "strata/host_device.h"

namespace strata {

constexpr double kZeroThreshold = 1e-35F;  // what is no larger is 0

// Trees read a row as columns: what one feature means to nodes that treat missing values alike.
struct ForestColumn {
  uint32_t feature = 0;
  bool categorical = false;
  MissingKind missing = MissingKind::kNone;
  bool default_left = false;

  auto operator<=>(const ForestColumn&) const = default;

  // A missing value becomes one that any threshold sends to the default side: NaN goes right.
  STRATA_HD double Of(double value) const {
    if (categorical) return value;
    const bool is_nan = value != value;
    if (missing == MissingKind::kNone) return is_nan ? 0 : value;
    const bool is_small = value >= -kZeroThreshold && value <= kZeroThreshold;
    if (!is_nan && !(missing == MissingKind::kZero && is_small)) return value;
    return default_left ? -math::Infinity() : math::NotANumber();
  }
};

// Values up to the threshold, which may be infinite, go to `left`, others to the place behind it. A
// leaf leads to itself: its threshold is NaN, and it is the place behind `left`.
struct ForestNode {
  double threshold;
  uint32_t column;
  uint32_t left;  // from the tree's first node

  STRATA_HD bool IsLeaf(uint32_t place) const { return left + 1 == place; }
  STRATA_HD uint32_t Next(double value) const { return left + (value <= threshold ? 0 : 1); }
};

// What goes left of a categorical node: bits of words from `begin` on, and missing values or not.
struct ForestSet {
  uint32_t begin = 0;
  uint32_t words = 0;
  bool is_set = false;  // false: of a node that is not categorical
  bool default_left = false;

  STRATA_HD bool GoesLeft(double value, const uint32_t* all_words) const {
    if (value != value) return default_left;
    const int32_t found = CategoryOf(value);
    if (found == kNoCategory) return false;
    const auto category = static_cast<uint32_t>(found);
    return category / 32 < words && (all_words[begin + category / 32] >> (category % 32) & 1) != 0;
  }
};

struct ForestTree {
  size_t begin = 0;  // its root among all nodes
  bool categorical = false;
};

// Tree t is of class t % classes.
struct ForestView {
  std::span<const ForestColumn> columns;
  std::span<const ForestTree> trees;
  std::span<const ForestNode> nodes;
  // By the place of a node.
  std::span<const double> values;    // of leaves
  std::span<const uint32_t> leaves;  // their numbers in the model
  std::span<const ForestSet> sets;   // empty without categorical nodes
  std::span<const uint32_t> set_words;
};

// A row takes no more trees once its score (the only one's twice the size, else the best above the
// second) is larger than the margin, looked at every so many trees, which are whole iterations; 0:
// never.
struct PredictionStop {
  uint64_t freq = 0;
  double margin = 10;

  STRATA_HD bool LooksAfter(uint64_t trees) const { return freq > 0 && trees % freq == 0; }
  STRATA_HD bool IsSure(const double* scores, size_t classes) const {
    if (classes == 1) return (scores[0] < 0 ? -2 * scores[0] : 2 * scores[0]) > margin;
    double best = scores[0] > scores[1] ? scores[0] : scores[1];
    double second = scores[0] > scores[1] ? scores[1] : scores[0];
    for (size_t k = 2; k < classes; ++k) {
      const double lower = best < scores[k] ? best : scores[k];
      second = second < lower ? lower : second;
      best = best < scores[k] ? scores[k] : best;
    }
    return best - second > margin;
  }
};

}  // namespace strata
