// Dart: a round's trees are grown as if some earlier ones, drawn anew, were not there, and share
// their weight with them (K. V. Rashmi and R. Gilad-Bachrach, "DART: Dropouts meet multiple
// additive regression trees", AISTATS 2015; weights as in LightGBM's dart.hpp).
#pragma once

#include "worker/gbdt/mode/boosting_mode.h"

namespace strata {

class Dart : public BoostingMode {
 public:
  // Only trees from `first_round` on are ever dropped: what they weigh is known of them alone.
  Dart(const BoostingParameters& parameters, uint64_t first_round);

  RoundPlan Plan(uint64_t round) override;
  bool drops() const override { return true; }

 private:
  std::vector<size_t> Draw(uint64_t round) const;

  const double learning_rate_;
  const double drop_rate_;
  const double skip_drop_;
  const size_t max_drop_;  // 0: no bound
  const bool uniform_;
  const bool xgboost_mode_;
  const uint64_t seed_;
  const uint64_t first_round_;
  std::vector<double> weights_;  // of each iteration of this run
  double weight_sum_ = 0;
};

}  // namespace strata
