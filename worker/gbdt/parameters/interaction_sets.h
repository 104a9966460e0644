// The sets of interaction_constraints: which features may stand together on a path from the root.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata {

// More sets are refused: each is a bit of a word.
constexpr size_t kInteractionSetsMax = 64;

// "[0,1,2],[2,3]" as LightGBM writes them: numbers of features. kInvalid: what stands there
// instead.
Result<std::vector<std::vector<int64_t>>> InteractionSets(std::string_view text);

}  // namespace strata
