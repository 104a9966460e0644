#include "bench/own_server.h"

#include <fmt/format.h>

#include <utility>

#include "base/hash.h"

namespace strata::bench {
namespace {

constexpr const char* kCluster = "bench";

}  // namespace

Result<std::unique_ptr<Server>> StartServer(ServerOptions options) {
  options.cluster_id = Hash64(kCluster);
  options.port = 0;
  return Server::Start(std::move(options));
}

Result<std::unique_ptr<RemoteStore>> ConnectTo(const Server& server) {
  return RemoteStore::Connect({.servers = {fmt::format("127.0.0.1:{}", server.port())},
                               .cluster_id = Hash64(kCluster),
                               .client_name = "strata-bench"});
}

}  // namespace strata::bench
