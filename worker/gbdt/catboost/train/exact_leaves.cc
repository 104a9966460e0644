#include "worker/gbdt/catboost/train/exact_leaves.h"

#include "worker/gbdt/catboost/train/weighted_quantile.h"

namespace strata {

std::vector<double> ExactValues(const LossSpec& loss, const FitRows& rows,
                                const ObliviousTree& tree, std::span<const double> raw,
                                WorkPool& pool) {
  const size_t leaves = tree.leaf_count();
  std::vector<size_t> ends(leaves);
  for (const uint16_t leaf : tree.leaves) ++ends[leaf];
  for (size_t leaf = 1; leaf < leaves; ++leaf) ends[leaf] += ends[leaf - 1];
  std::vector<size_t> begins(ends.begin(), ends.end());
  std::vector<WeightedValue> errors(rows.rows());
  for (size_t row = rows.rows(); row-- > 0;) {
    const auto error = static_cast<float>(rows.labels[row] - raw[row]);
    errors[--begins[tree.leaves[row]]] = {.value = error, .weight = 1};
  }
  std::vector<double> values(leaves);
  pool.Run(leaves, [&](size_t leaf) {
    const std::span<WeightedValue> of_leaf =
        std::span(errors).subspan(begins[leaf], ends[leaf] - begins[leaf]);
    values[leaf] = BestConstant(loss, of_leaf);
  });
  return values;
}

}  // namespace strata
