#include "bench/peers/own_server.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "base/hash.h"

namespace strata::bench {
namespace {

constexpr const char* kCluster = "bench";
constexpr TimeNs kPatience = 5 * kSecond;

}  // namespace

Result<std::unique_ptr<Server>> StartServer(ServerOptions options) {
  options.cluster_id = Hash64(kCluster);
  options.port = 0;
  return Server::Start(std::move(options));
}

Result<std::unique_ptr<RemoteStore>> ConnectTo(const Server& server, Transport transport,
                                               const std::string& inproc) {
  RemoteStoreOptions options;
  options.servers = {transport == Transport::kInproc ? "inproc://" + inproc
                                                     : fmt::format("127.0.0.1:{}", server.port())};
  options.cluster_id = Hash64(kCluster);
  options.client_name = "strata-bench";
  options.shared_memory = transport == Transport::kSharedMemory;
  STRATA_ASSIGN(auto store, RemoteStore::Connect(options));
  if (transport != Transport::kSharedMemory) return store;
  // It takes over after a few messages.
  const TimeNs end = RealClock().Now() + kPatience;
  while (!store->LaneEndpoints()[0].starts_with("shm://")) {
    STRATA_TRY(store->ListTables().status());
    if (RealClock().Now() > end) return Refused("this system gives no shared memory");
  }
  return store;
}

}  // namespace strata::bench
