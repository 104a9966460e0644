#include "worker/gbdt/objective/side_weights.h"

namespace strata {

loss::SideWeights SideWeightsOf(const ObjectiveParameters& p, double positives, double rows) {
  loss::SideWeights weights;
  const double negatives = rows - positives;
  if (p.is_unbalance && positives > 0 && negatives > 0) {
    (positives > negatives ? weights.negative : weights.positive) =
        positives > negatives ? positives / negatives : negatives / positives;
  }
  weights.positive *= p.scale_pos_weight;
  return weights;
}

}  // namespace strata
