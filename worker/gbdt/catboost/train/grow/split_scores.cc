#include "worker/gbdt/catboost/train/grow/split_scores.h"

#include <cstdint>

#include "kernels/core/wide_vectors.h"
#include "kernels/tree/oblivious/split_score.h"

namespace strata {
namespace {

// Of each split one side: of borders the lower bins, of a value its rows.
struct Sides {
  std::array<int64_t, kSplitsMax> gradient;
  std::array<int64_t, kSplitsMax> hessian;
};

// Returns both sides together, which are the same for all splits.
GradientSums SumSides(const GradientSums* bins, size_t splits, bool is_value, Sides* sides) {
  GradientSums all = bins[0];
  for (size_t split = 0; split < splits; ++split) {
    const GradientSums& side = is_value ? bins[split + 1] : all;
    sides->gradient[split] = side.gradient;
    sides->hessian[split] = side.hessian;
    all += bins[split + 1];
  }
  return all;
}

}  // namespace

void SplitScores::Clear() {
  gain.fill(0);
  norm.fill(0);
}

void SplitScores::Add(std::span<const GradientSums* const> leaves, size_t splits, bool is_value,
                      const GradientUnits& units, double l2) {
  SplitScores sum;
  sum.Clear();
  Sides sides;
  for (const GradientSums* const bins : leaves) {
    const GradientSums all = SumSides(bins, splits, is_value, &sides);
    WithWideVectors([&, all] {
      for (size_t split = 0; split < splits; ++split) {
        AddSides({sides.gradient[split], sides.hessian[split]}, all, units, l2, &sum.gain[split],
                 &sum.norm[split]);
      }
    });
  }
  for (size_t split = 0; split < splits; ++split) {
    gain[split] += sum.gain[split];
    norm[split] += sum.norm[split];
  }
}

void SplitScores::Finish(bool is_cosine, std::span<double> scores) const {
  for (size_t split = 0; split < scores.size(); ++split) {
    scores[split] = SplitScore(gain[split], norm[split], is_cosine);
  }
}

}  // namespace strata
