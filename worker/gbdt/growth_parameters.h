// What parameters say of how trees may grow, beyond numbers: which features may stand together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/parameter_conflicts.h"
#include "worker/gbdt/parameters.h"

namespace strata {

// More sets are refused: each is a bit of a word.
constexpr size_t kInteractionSetsMax = 64;

// The sets of interaction_constraints, "[0,1,2],[2,3]" as LightGBM writes them: numbers of
// features. kInvalid: what stands there instead.
Result<std::vector<std::vector<int64_t>>> InteractionSets(std::string_view text);

// What is wrong with how trees are to grow, of what parameters show by themselves.
std::optional<ParameterConflict> GrowthConflict(const TreeParameters& parameters);

// The parameter for whose sake the host grows trees even with device = cuda, while a GPU has the
// rows; null: there is none.
const char* GrowsOnHost(const TreeParameters& parameters);

}  // namespace strata
