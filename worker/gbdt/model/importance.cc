#include "worker/gbdt/model/importance.h"

namespace strata {

std::vector<double> FeatureImportances(const TreeModel& model, ImportanceKind kind) {
  std::vector<double> importances(model.features(), 0);
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      if (!(node.gain > 0)) continue;
      importances[static_cast<size_t>(node.feature)] +=
          kind == ImportanceKind::kGain ? node.gain : 1;
    }
  }
  return importances;
}

}  // namespace strata
