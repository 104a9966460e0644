// CtrKinds: the statistics that a training makes of categories and their combinations, with the
// classes of the labels that they count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/category_parameters.h"
#include "worker/gbdt/catboost/train/target_classes.h"

namespace strata {

// A statistic, of which each prior makes a column.
struct CtrKind {
  CtrType type = CtrType::kBorders;
  const TargetClasses* classes = nullptr;  // null: the type does not go by labels
  uint32_t target_border = 0;
  size_t border_count = 15;   // of a column, whose bins are one more
  std::vector<float> priors;  // numerators; the denominators are 1
};

// Immutable; any number of threads.
class CtrKinds {
 public:
  // `label_classes`: labels are that many classes, which all statistics count then, whatever their
  // descriptions say; 0: labels are parted by borders.
  CtrKinds(const CategoryParameters& parameters, const CatBoostModel& model,
           std::span<const float> labels, size_t label_classes);
  CtrKinds(const CtrKinds&) = delete;
  CtrKinds& operator=(const CtrKinds&) = delete;

  // In the order in which CatBoost tries them.
  const std::vector<CtrKind>& Of(const CtrProjection& projection) const;

 private:
  std::vector<CtrKind> Expanded(const std::vector<CtrDescription>& descriptions,
                                const CategoryParameters& parameters, std::span<const float> labels,
                                size_t label_classes);

  std::map<std::pair<BorderType, size_t>, TargetClasses> classes_;
  std::vector<std::vector<CtrKind>> simple_;  // by category
  std::vector<CtrKind> combinations_;
};

}  // namespace strata
