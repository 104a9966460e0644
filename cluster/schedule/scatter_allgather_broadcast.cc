#include "cluster/schedule/allgather.h"
#include "cluster/schedule/rooted.h"

namespace strata {

Schedule ScatterAllgatherBroadcast(int world, int rank, int root) {
  return Then(BinomialScatter(world, rank, root), BruckAllgather(world, rank));
}

}  // namespace strata
