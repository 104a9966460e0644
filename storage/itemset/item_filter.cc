#include "storage/itemset/item_filter.h"

#include <fmt/format.h>

#include <bit>

namespace strata {

Status CheckFilter(const ItemFilter& filter, const ItemSetSpec& spec) {
  for (const ItemFilter::Range& range : filter.ranges) {
    if (range.attribute < spec.attributes.size()) continue;
    return Invalid(fmt::format("a filter by attribute {}; the collection has {}: 0 to that less 1",
                               range.attribute, spec.attributes.size()));
  }
  return {};
}

void ApplyFilter(const ItemFilter& filter, const Segment& segment, PlaceBits& bits) {
  const auto is_in = [&](uint32_t place) {
    for (const ItemFilter::Range& range : filter.ranges) {
      const int64_t value = segment.AttributeAt(place, range.attribute);
      if (value < range.low || value > range.high) return false;
    }
    return !filter.has_ids || filter.ids.Has(segment.block().ids()[place]);
  };
  for (size_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(left));
      if (!is_in(static_cast<uint32_t>(word * 64) + bit)) bits[word] &= ~(uint64_t{1} << bit);
    }
  }
}

}  // namespace strata
