#include "ps/client/table_cache.h"

#include <fmt/format.h>

namespace strata::client {

Status TableCache::Check(const Operation& operation) const {
  for (const TablePart& part : operation.parts) {
    const auto known = tables_.find(part.table);
    if (known == tables_.end()) {
      return NotFound(fmt::format("{}: no table has the id {:#010x}; create it first",
                                  OpKindName(operation.kind), static_cast<uint32_t>(part.table)));
    }
    STRATA_TRY(ValidatePart(operation.kind, part, known->second));
  }
  return {};
}

}  // namespace strata::client
