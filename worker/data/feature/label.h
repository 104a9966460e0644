// The label of a row of text.
#pragma once

#include <string>
#include <string_view>

#include "worker/data/feature/data_spec.h"

namespace strata {

// Reads a label as the spec says it is written. Returns "", or why `field` is no label. Of sparse
// rows the number -1 means 0. A label that is a text leaves `label` as it is.
std::string ReadLabel(const DataSpec& spec, std::string_view field, float* label);

}  // namespace strata
