// PUT: values in, as they are; optimizer state and counters of the rows restart.
#include "ps/service/handlers.h"
#include "storage/row_elements.h"

namespace strata {

Result<Applied> ApplyPut(LaneState& lane, const Request& request) {
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(LocalTable * table, lane.FindTable(request.header));
  STRATA_ASSIGN(const std::vector<Key> keys, OwnedKeys(lane, request));
  STRATA_ASSIGN(const RowsIn values, RowsOf(*table, request));
  // A log may be of a version that let them pass.
  if (lane.replayed == 0) STRATA_TRY(CheckValuesFit(table->spec(), keys, values.span()));
  STRATA_TRY(lane.Count(Refusal::kMemory, table->PrepareAssign(keys, values.span())));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  table->CommitAssign();
  return Applied(lsn);
}

}  // namespace strata
