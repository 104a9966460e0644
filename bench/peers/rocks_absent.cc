// Stands in for rocks_peer.cc in a build without RocksDB.
#include "bench/peers/service_peer.h"

namespace strata::bench {

Result<std::unique_ptr<ServicePeer>> StartRocks() {
  return NotFound("built without RocksDB; ./dev bench installs it");
}

}  // namespace strata::bench
