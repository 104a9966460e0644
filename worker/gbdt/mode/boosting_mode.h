// BoostingMode: what differs between boosting=gbdt, dart and rf, said as a plan for each round that
// the booster carries out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/gbdt/parameters/boosting_parameters.h"

namespace strata {

struct RoundPlan {
  // Iterations whose trees are left out of the scores while this round's grow, ascending.
  std::vector<size_t> dropped;
  double dropped_factor = 1;  // by which they are multiplied when they come back
  double shrinkage = 1;       // of the round's trees
};

// One thread.
class BoostingMode {
 public:
  virtual ~BoostingMode() = default;

  // Of a round, which counts from the model's first tree. Called once for each, in order.
  virtual RoundPlan Plan(uint64_t round) = 0;
  // Trees are changed after their round.
  virtual bool drops() const { return false; }
  // Each tree stands for itself: its gradients are those of the start scores, which it contains,
  // and predictions are the mean of all trees (L. Breiman, "Random forests", Machine Learning
  // 2001).
  virtual bool averages() const { return false; }
};

// `first_round`: that many iterations were there before.
std::unique_ptr<BoostingMode> MakeBoostingMode(const BoostingParameters& parameters,
                                               uint64_t first_round);

}  // namespace strata
