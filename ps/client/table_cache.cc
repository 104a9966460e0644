#include "ps/client/table_cache.h"

#include <fmt/format.h>

namespace strata::client {

void TableCache::Forget(TableId table) {
  const auto entry = tables_.find(table);
  if (entry != tables_.end()) entry->second.known = false;
}

AckLevel TableCache::AckOf(TableId table) const {
  const auto entry = tables_.find(table);
  return entry == tables_.end() ? AckLevel::kDefault : entry->second.spec.ack;
}

Status TableCache::Missing(TableId table) const {
  const auto entry = tables_.find(table);
  if (entry == tables_.end()) {
    return NotFound(
        fmt::format("no table has the id {:#018x}; create it first", static_cast<uint64_t>(table)));
  }
  return NotFound(fmt::format(
      "there is no table '{}' any more: it was dropped meanwhile, or a server came back without "
      "its data: make it again (a job that is started again does so), or restore a checkpoint",
      entry->second.spec.name));
}

Status TableCache::Check(const Operation& operation) const {
  for (const TablePart& part : operation.parts) {
    const auto known = tables_.find(part.table);
    if (known == tables_.end() || !known->second.known) {
      return Missing(part.table).Prefixed(OpKindName(operation.kind));
    }
    STRATA_TRY(ValidatePart(operation.kind, part, known->second.spec));
  }
  return {};
}

}  // namespace strata::client
