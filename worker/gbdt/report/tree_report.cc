#include "worker/gbdt/report/tree_report.h"

#include <algorithm>

namespace strata {

std::vector<FeatureImportance> Importances(const TreeModel& model) {
  std::vector<FeatureImportance> all(model.features());
  for (size_t feature = 0; feature < all.size(); ++feature) {
    all[feature].feature = model.feature_names[feature];
  }
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      FeatureImportance& importance = all[static_cast<size_t>(node.feature)];
      ++importance.splits;
      importance.gain += node.gain;
    }
  }
  std::erase_if(all, [](const FeatureImportance& one) { return one.splits == 0; });
  std::ranges::stable_sort(all, std::greater<>(), &FeatureImportance::gain);
  return all;
}

}  // namespace strata
