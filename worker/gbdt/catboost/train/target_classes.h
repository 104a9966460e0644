// TargetClasses: the labels of training rows as the few classes that statistics of categories
// count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/gbdt/catboost/train/border_selection.h"

namespace strata {

struct TargetClasses {
  std::vector<uint16_t> of_rows;
  size_t count = 1;
};

// Parts the labels by up to `borders` borders of the type, up to 255; a class is the number of
// borders below the label. Labels that are all the same are one class.
TargetClasses PartTargets(std::span<const float> labels, BorderType type, size_t borders);

}  // namespace strata
