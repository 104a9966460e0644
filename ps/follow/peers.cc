#include "ps/follow/peers.h"

#include <fmt/format.h>

#include <utility>

namespace strata {
namespace {

constexpr TimeNs kConnectTimeout = kSecond;  // the server's end waits for it

}  // namespace

void Peers::SetServers(std::vector<std::string> servers) {
  const MutexLock lock(mutex_);
  servers_ = std::move(servers);
}

Status Peers::CheckGoing(std::vector<std::string>* servers) {
  const MutexLock lock(mutex_);
  if (is_stopped_) return Cancelled("the server is shutting down");
  if (servers_.empty()) {
    return Unavailable("this server does not know where the others of its cluster are");
  }
  *servers = servers_;
  return {};
}

Result<std::shared_ptr<RemoteStore>> Peers::Get() {
  const MutexLock connecting(connecting_);
  {
    const MutexLock lock(mutex_);
    if (store_ != nullptr && !is_stopped_) return store_;
  }
  RemoteStoreOptions options;
  STRATA_TRY(CheckGoing(&options.servers));
  options.cluster_id = cluster_id_;
  options.client_name = fmt::format("server {}", rank_);
  options.connect_timeout = kConnectTimeout;
  auto connected = RemoteStore::Connect(options);
  if (!connected.ok()) return Unavailable(connected.status().message());
  std::shared_ptr<RemoteStore> store = std::move(*connected);
  const MutexLock lock(mutex_);
  if (is_stopped_) return Cancelled("the server is shutting down");
  store_ = store;
  return store;
}

void Peers::Drop(const std::shared_ptr<RemoteStore>& lost) {
  const MutexLock lock(mutex_);
  if (store_ == lost) store_ = nullptr;
}

void Peers::Stop() {
  const MutexLock lock(mutex_);
  is_stopped_ = true;
  if (store_ != nullptr) store_->Abort(Cancelled("the server is shutting down"));
}

}  // namespace strata
