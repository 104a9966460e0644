// Names of features as models hold them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata {

// The name of a feature in a model. A blank and the end of a line become '_', and so does what
// LightGBM refuses in names: '"' ',' ':' '[' ']' '{' '}'. A name that was changed once stays as it
// is.
std::string ModelFeatureName(std::string_view name);

// Of all features of a data set or model; an empty name becomes Column_N. kInvalid: two different
// names become one, which the message shows.
Result<std::vector<std::string>> ModelFeatureNames(const std::vector<std::string>& names);

}  // namespace strata
