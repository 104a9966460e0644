// Stands in for redis_peer.cc in a build without hiredis.
#include "bench/peers/service_peer.h"

namespace strata::bench {

Result<std::unique_ptr<ServicePeer>> StartRedis() {
  return NotFound("built without hiredis; ./dev bench installs it");
}

}  // namespace strata::bench
