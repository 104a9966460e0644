#include "worker/gbdt/catboost/train/target_classes.h"

#include <algorithm>

namespace strata {

TargetClasses PartTargets(std::span<const float> labels, BorderType type, size_t borders) {
  const std::vector<float> selected = SelectBorders({labels.begin(), labels.end()}, type, borders);
  TargetClasses classes = {.of_rows = {}, .count = selected.size() + 1};
  classes.of_rows.reserve(labels.size());
  for (const float label : labels) {
    const auto above = std::ranges::lower_bound(selected, label);
    classes.of_rows.push_back(static_cast<uint16_t>(above - selected.begin()));
  }
  return classes;
}

}  // namespace strata
