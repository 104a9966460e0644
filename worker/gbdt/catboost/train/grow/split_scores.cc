#include "worker/gbdt/catboost/train/grow/split_scores.h"

#include <cmath>
#include <cstdint>

namespace strata {
namespace {

// Of each split the sums of one side.
struct SideSums {
  std::array<int64_t, kSplitsMax> gradient;
  std::array<int64_t, kSplitsMax> weight;
};

// The side whose bins a border is not below, or whose rows have a value; returns all rows' sums.
GradientSums SumSides(const GradientSums* bins, size_t splits, bool is_value, SideSums* side) {
  GradientSums all = bins[0];
  for (size_t split = 0; split < splits; ++split) {
    const GradientSums sums = is_value ? bins[split + 1] : all;
    side->gradient[split] = sums.gradient;
    side->weight[split] = sums.hessian;
    all += bins[split + 1];
  }
  return all;
}

// Adds the same rows' two sides for each split.
void AddSides(const SideSums& side, const GradientSums& all, size_t splits,
              const GradientUnits& units, double l2, double* gain, double* norm) {
  for (size_t split = 0; split < splits; ++split) {
    const double g = ToDoubleByHalves(side.gradient[split]) * units.gradient;
    const double w = ToDoubleByHalves(side.weight[split]) * units.hessian;
    const double other_g = ToDoubleByHalves(all.gradient - side.gradient[split]) * units.gradient;
    const double other_w = ToDoubleByHalves(all.hessian - side.weight[split]) * units.hessian;
    const double quotient = g / (w + l2);
    const double other_quotient = other_g / (other_w + l2);
    const double value = w > 0 ? quotient : 0;
    const double other = other_w > 0 ? other_quotient : 0;
    gain[split] += value * g + other * other_g;
    norm[split] += value * value * w + other * other * other_w;
  }
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
  SideSums side;
  for (const GradientSums* const bins : leaves) {
    const GradientSums all = SumSides(bins, splits, is_value, &side);
    AddSides(side, all, splits, units, l2, sum.gain.data(), sum.norm.data());
  }
  for (size_t split = 0; split < splits; ++split) {
    gain[split] += sum.gain[split];
    norm[split] += sum.norm[split];
  }
}

void SplitScores::Finish(bool is_cosine, std::span<double> scores) const {
  for (size_t split = 0; split < scores.size(); ++split) {
    scores[split] = is_cosine ? gain[split] / std::sqrt(1e-100 + norm[split]) : gain[split];
  }
}

}  // namespace strata
