// PUT and ERASE: rows that are set, and rows that go.
#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"
#include "storage/row_elements.h"

namespace strata {

// Values as they are; optimizer state and counters of the rows restart.
Result<Applied> ApplyPut(LaneState& lane, Request& request) {
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

// Missing rows are no error. Who asks for it is told how many there were; a repeat is not, as
// nobody remembers that.
Result<Applied> ApplyErase(LaneState& lane, Request& request) {
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(LocalTable * table, lane.FindTable(request.header));
  STRATA_ASSIGN(const std::vector<Key> keys, OwnedKeys(lane, request));
  STRATA_TRY(table->PrepareErase(keys));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  const uint64_t erased = table->CommitErase();
  if (request.header.is(wire::kFlagFull)) request.erased = erased;
  return Applied(lsn);
}

}  // namespace strata
