// What was set and changes nothing beside the other parameters, as LightGBM has it: it trains all
// the same, and so does Strata, with a warning.
#pragma once

#include <string>
#include <vector>

#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// A sentence without a full stop for each such parameter, or each few that go together.
std::vector<std::string> WhatHasNoEffect(const TreeParameters& parameters);

}  // namespace strata
