#include "worker/gbdt/mode/dart.h"

#include <algorithm>

#include "base/hash.h"
#include "kernels/tree/gradient/fixed_point.h"

namespace strata {

Dart::Dart(const BoostingParameters& p, uint64_t first_round)
    : learning_rate_(p.learning_rate),
      drop_rate_(p.drop_rate),
      skip_drop_(p.skip_drop),
      max_drop_(p.max_drop > 0 ? static_cast<size_t>(p.max_drop) : 0),
      uniform_(p.uniform_drop),
      xgboost_mode_(p.xgboost_dart_mode),
      seed_(static_cast<uint64_t>(p.drop_seed)),
      first_round_(first_round) {}

// Iterations count from first_round_ here.
std::vector<size_t> Dart::Draw(uint64_t round) const {
  std::vector<size_t> drawn;
  const size_t count = weights_.size();
  if (count == 0) return drawn;
  const uint64_t seed = Mix64(Mix64(seed_) + round);
  if (RowUniform(seed, 0) < skip_drop_) return drawn;
  // Heavy trees are dropped more often, unless all are to be alike; max_drop of them on average.
  const double mean_weight = weight_sum_ / static_cast<double>(count);
  double rate = drop_rate_;
  if (max_drop_ > 0) {
    const double all = uniform_ ? static_cast<double>(count) : weight_sum_ / mean_weight;
    rate = std::min(rate, static_cast<double>(max_drop_) / all);
  }
  for (size_t i = 0; i < count; ++i) {
    const double chance = uniform_ ? rate : rate * weights_[i] / mean_weight;
    if (RowUniform(seed, i + 1) >= chance) continue;
    drawn.push_back(i);
    if (drawn.size() == max_drop_) break;
  }
  return drawn;
}

RoundPlan Dart::Plan(uint64_t round) {
  RoundPlan plan{.dropped = Draw(round), .dropped_factor = 1, .shrinkage = learning_rate_};
  const auto dropped = static_cast<double>(plan.dropped.size());
  if (dropped > 0) {
    const double all = dropped + (xgboost_mode_ ? learning_rate_ : 1);
    plan.dropped_factor = dropped / all;
    plan.shrinkage = learning_rate_ / all;
  }
  for (size_t& i : plan.dropped) {
    weight_sum_ -= weights_[i] * (1 - plan.dropped_factor);
    weights_[i] *= plan.dropped_factor;
    i += first_round_;
  }
  weights_.push_back(plan.shrinkage);
  weight_sum_ += plan.shrinkage;
  return plan;
}

}  // namespace strata
