// ERASE: rows that exist go; missing ones are no error.
#include "ps/service/handlers.h"

namespace strata {

Result<Applied> ApplyErase(LaneState& lane, const Request& request) {
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(LocalTable * table, lane.FindTable(request.header.table));
  STRATA_ASSIGN(const std::vector<Key> keys, OwnedKeys(lane, request));
  STRATA_TRY(table->PrepareErase(keys));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  table->CommitErase();
  return Applied(lsn);
}

}  // namespace strata
