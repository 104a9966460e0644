// What the planner of a lane chose for a search beside what happened, as the wire has it.
#pragma once

#include <cstdint>
#include <span>

#include "base/clock.h"
#include "proto/wire/collection_payload.h"
#include "storage/itemset/planned_search.h"

namespace strata {

// Of a batch of so many queries with these reports, for a request that waited so long for it.
wire::SearchExplanation ExplanationOf(std::span<const SearchReport> reports, uint32_t queries,
                                      TimeNs waited, TimeNs took);

}  // namespace strata
