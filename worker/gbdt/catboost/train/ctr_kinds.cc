#include "worker/gbdt/catboost/train/ctr_kinds.h"

namespace strata {
namespace {

// How many borders of the target a statistic has columns for.
size_t TargetBorders(CtrType type, const TargetClasses* classes) {
  switch (type) {
    case CtrType::kBorders:
      return classes->count - 1;
    case CtrType::kBuckets:
      return classes->count;
    case CtrType::kBinarizedTargetMean:
      return classes->count > 1 ? 1 : 0;
    default:
      return 1;
  }
}

TargetClasses ClassesOfLabels(std::span<const float> labels, size_t count) {
  TargetClasses classes = {.of_rows = {}, .count = count};
  for (const float label : labels) classes.of_rows.push_back(static_cast<uint16_t>(label));
  return classes;
}

}  // namespace

CtrKinds::CtrKinds(const CategoryParameters& parameters, const CatBoostModel& model,
                   std::span<const float> labels, size_t label_classes) {
  for (const CatBoostCategory& category : model.categories) {
    const auto own = parameters.per_feature.find(category.flat_index);
    simple_.push_back(
        Expanded(own == parameters.per_feature.end() ? parameters.simple : own->second, parameters,
                 labels, label_classes));
  }
  combinations_ = Expanded(parameters.combinations, parameters, labels, label_classes);
}

std::vector<CtrKind> CtrKinds::Expanded(const std::vector<CtrDescription>& descriptions,
                                        const CategoryParameters& parameters,
                                        std::span<const float> labels, size_t label_classes) {
  std::vector<CtrKind> kinds;
  for (const CtrDescription& description : descriptions) {
    const TargetClasses* classes = nullptr;
    if (description.type != CtrType::kCounter) {
      const size_t borders =
          description.target_border_count.value_or(parameters.target_border_count);
      const auto [found, is_new] = classes_.try_emplace({description.target_border_type, borders});
      if (is_new) {
        found->second = label_classes > 0
                            ? ClassesOfLabels(labels, label_classes)
                            : PartTargets(labels, description.target_border_type, borders);
      }
      classes = &found->second;
    }
    const size_t borders = TargetBorders(description.type, classes);
    for (uint32_t border = 0; border < borders; ++border) {
      kinds.push_back({.type = description.type,
                       .classes = classes,
                       .target_border = border,
                       .border_count = description.border_count,
                       .priors = description.priors});
    }
  }
  return kinds;
}

const std::vector<CtrKind>& CtrKinds::Of(const CtrProjection& projection) const {
  return projection.IsSimple() ? simple_[projection.categories[0]] : combinations_;
}

}  // namespace strata
