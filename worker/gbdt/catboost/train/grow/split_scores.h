// Scores of splits from histograms, as CatBoost's private/libs/algo/score_calcers.* has them.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kernels/tree/gradient/fixed_point.h"

namespace strata {

constexpr size_t kSplitsMax = 255;  // of a column

// What the leaves of each of a column's splits have added up to. A leaf has the value a = G / (W +
// l2), or 0 without weights; it adds a * G to the gain and a * a * W to the norm.
struct SplitScores {
  std::array<double, kSplitsMax> gain;
  std::array<double, kSplitsMax> norm;

  void Clear();
  // Adds what leaves that are split add, from the histograms of their columns. All of them are
  // added to each other first, in their order, so that a device may do that apart.
  void Add(std::span<const GradientSums* const> leaves, size_t splits, bool is_value,
           const GradientUnits& units, double l2);
  // Cosine: gain / sqrt(1e-100 + norm). L2: the gain.
  void Finish(bool is_cosine, std::span<double> scores) const;
};

}  // namespace strata
