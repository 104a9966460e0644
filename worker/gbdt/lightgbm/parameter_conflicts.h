// What only several parameters together show to be wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

struct ParameterConflict {
  std::vector<std::string_view> keys;  // those at fault, to say where they were given
  std::string what;
};

// The first one; nothing: all go together.
std::optional<ParameterConflict> FindConflict(const TreeParameters& parameters);

}  // namespace strata
