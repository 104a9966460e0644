// What a filter (strata/set_search.h) does to a segment.
#pragma once

#include "storage/itemset/segment.h"
#include "strata/document.h"
#include "strata/set_search.h"
#include "strata/status.h"

namespace strata {

// kInvalid: names an attribute that there is not.
Status CheckFilter(const ItemFilter& filter, const ItemSetSpec& spec);

// Clears the bits of documents that the filter keeps out.
void ApplyFilter(const ItemFilter& filter, const Segment& segment, PlaceBits& bits);

}  // namespace strata
