#include "worker/gbdt/catboost/train/grow/monotone_scores.h"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

std::vector<int8_t> With(std::span<const int8_t> directions, int8_t last) {
  std::vector<int8_t> all(directions.begin(), directions.end());
  all.push_back(last);
  return all;
}

}  // namespace

MonotoneScores::MonotoneScores(std::span<const int8_t> directions, const GrowColumn& column)
    : is_value_(column.is_value),
      splits_(column.splits),
      leaves_(size_t{1} << directions.size()),
      monotone_(With(directions, column.direction)),
      sums_(splits_ * 2 * leaves_) {}

bool MonotoneScores::AreNeeded(std::span<const int8_t> directions, const GrowColumn& column) {
  return column.direction != 0 ||
         std::ranges::any_of(directions, [](int8_t direction) { return direction != 0; });
}

void MonotoneScores::Set(size_t leaf, const GradientSums* bins, const GradientUnits& units) {
  GradientSums all = {};
  for (size_t bin = 0; bin <= splits_; ++bin) all += bins[bin];
  GradientSums left = {};
  for (size_t split = 0; split < splits_; ++split) {
    left += bins[split];
    const GradientSums right = is_value_ ? bins[split + 1] : all - left;
    const GradientSums rest = all - right;
    Sums* const of_split = sums_.data() + split * 2 * leaves_;
    of_split[leaf] = {ToDouble(rest.gradient) * units.gradient,
                      ToDouble(rest.hessian) * units.hessian};
    of_split[leaf + leaves_] = {ToDouble(right.gradient) * units.gradient,
                                ToDouble(right.hessian) * units.hessian};
  }
}

void MonotoneScores::Finish(bool is_cosine, double l2, std::span<double> scores) const {
  std::vector<double> values(2 * leaves_);
  std::vector<double> weights(2 * leaves_);
  for (size_t split = 0; split < splits_; ++split) {
    const Sums* const of_split = sums_.data() + split * 2 * leaves_;
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      weights[leaf] = of_split[leaf].weight + l2;
      values[leaf] = of_split[leaf].weight > 0 ? of_split[leaf].gradient / weights[leaf] : 0;
    }
    monotone_.Project(weights, values);
    double gain = 0;
    double norm = 0;
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      gain += values[leaf] * of_split[leaf].gradient;
      norm += values[leaf] * values[leaf] * of_split[leaf].weight;
    }
    scores[split] = is_cosine ? gain / std::sqrt(1e-100 + norm) : gain;
  }
}

}  // namespace strata
