#include "storage/memory/local_table.h"

#include <fmt/format.h>

namespace strata {

std::string_view TierName(Tier tier) {
  switch (tier) {
    case Tier::kHot:
      return "hot";
    case Tier::kWarm:
      return "warm";
    case Tier::kCold:
      return "cold";
  }
  return "?";
}

Status LocalTable::CheckLoad(const ScanPage& page) const {
  const RowSchema schema = SchemaOf(spec());
  const size_t width = size_t{schema.dim} + schema.state_width;
  if (page.rows.size() == page.keys.size() * width && page.counters.size() == page.keys.size()) {
    return {};
  }
  return Invalid(fmt::format(
      "table '{}': {} rows to load: expected {} elements and as many counters, found {} and {}",
      spec().name, page.keys.size(), page.keys.size() * width, page.rows.size(),
      page.counters.size()));
}

}  // namespace strata
