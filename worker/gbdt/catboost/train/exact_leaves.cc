#include "worker/gbdt/catboost/train/exact_leaves.h"

#include "worker/gbdt/catboost/train/leaf_order.h"
#include "worker/gbdt/catboost/train/weighted_quantile.h"

namespace strata {

std::vector<double> ExactValues(const LossSpec& loss, const FitRows& rows,
                                const ObliviousTree& tree, std::span<const double> raw,
                                WorkPool& pool) {
  const LeafOrder order(tree);
  std::vector<double> values(tree.leaf_count());
  pool.Run(values.size(), [&](size_t leaf) {
    std::vector<WeightedValue> errors;
    for (const uint32_t row : order.rows(leaf)) {
      errors.push_back({.value = static_cast<float>(rows.labels[row] - raw[row]), .weight = 1});
    }
    values[leaf] = BestConstant(loss, errors);
  });
  return values;
}

}  // namespace strata
