// One answer of several, each over documents of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/setops/top_hits.h"

namespace strata {

// Each is exact, best first: so is what this returns, over all their documents.
std::vector<Hit> MergeAnswers(std::span<const std::vector<Hit>> answers, const SearchGoal& goal,
                              uint32_t query_length);

}  // namespace strata
