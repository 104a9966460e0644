// Which documents a search may find.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/itemset/segment.h"
#include "strata/status.h"

namespace strata {

struct ItemFilter {
  // low <= the attribute <= high.
  struct Range {
    size_t attribute = 0;  // by number
    int64_t low = INT64_MIN;
    int64_t high = INT64_MAX;
  };
  // Bit i stands for the id first + i; documents of other ids are not found.
  struct Ids {
    DocumentId first = 0;
    std::vector<uint64_t> bits;

    bool Has(DocumentId id) const {
      const uint64_t i = id - first;
      return id >= first && i / 64 < bits.size() && (bits[i / 64] >> i % 64 & 1) != 0;
    }
  };

  std::vector<Range> ranges;  // all of them hold
  bool has_ids = false;       // whether `ids` counts
  Ids ids;

  bool IsAll() const { return ranges.empty() && !has_ids; }
};

// kInvalid: names an attribute that there is not.
Status CheckFilter(const ItemFilter& filter, const ItemSetSpec& spec);

// Clears the bits of documents that the filter keeps out.
void ApplyFilter(const ItemFilter& filter, const Segment& segment, PlaceBits& bits);

}  // namespace strata
