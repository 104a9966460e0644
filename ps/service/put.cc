// PUT: values in, as they are; optimizer state and counters of the rows restart.
#include "ps/service/handlers.h"

namespace strata {

Result<Applied> ApplyPut(LaneState& lane, const Request& request) {
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(LocalTable * table, lane.FindTable(request.header.table));
  STRATA_ASSIGN(const std::vector<Key> keys, OwnedKeys(lane, request));
  STRATA_ASSIGN(const RowsIn values, RowsOf(*table, request));
  STRATA_TRY(lane.Count(Refusal::kMemory, table->PrepareAssign(keys, values.span())));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  table->CommitAssign();
  return Applied(lsn);
}

}  // namespace strata
