// ERASE: rows that exist go; missing ones are no error. Who asks for it is told how many there
// were; a repeat is not, as nobody remembers that.
#include "ps/service/handlers.h"

namespace strata {

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
