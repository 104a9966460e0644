// Connection: a ClientCore on a thread of its own, and the port that it speaks through. A
// RemoteStore has one, or several that carry a share of the keys each. Internal to ps/client.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "base/thread/work_pool.h"
#include "ps/client/client_core.h"
#include "ps/client/remote_store.h"
#include "ps/net/client_port.h"
#include "strata/status.h"

namespace strata::client {

// Thread-safe.
class Connection {
 public:
  using Action = std::function<void(ClientCore&, TimeNs)>;

  // Starts to greet the servers, and does not wait for them. Of the options, `on_waits` and
  // `connections` are the store's. `threads` of the connection copy the rows of large operations.
  static Result<std::unique_ptr<Connection>> Start(
      const RemoteStoreOptions& options, KeyShare share, int threads,
      std::function<void(std::vector<ServerWait>)> on_waits);
  // Ends what is open with kCancelled.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs `action` on the connection's thread, unless that has ended.
  void Post(Action action);
  // As TableStore::Submit.
  void Submit(Operation operation, Completion done);
  // 32 hexadecimal digits, as strata-admin clients shows them.
  const std::string& client_id() const { return client_id_; }
  // ClientPort's. On the connection's thread.
  std::string RouteOf(const std::string& peer) const { return port_->RouteOf(peer); }

 private:
  Connection(const RemoteStoreOptions& options, KeyShare share, std::unique_ptr<ClientPort> port,
             std::unique_ptr<WorkPool> pool, std::function<void(std::vector<ServerWait>)> on_waits);

  ClientCoreOptions CoreOptions(const RemoteStoreOptions& options, KeyShare share);
  void ChooseRoute(const ServerLink& server, KeyShare share, bool shared_memory);
  void Run();
  bool RunActions();  // false once the connection is to end
  void SendOutgoing();
  Status ReceiveSome();
  void ReportWaits();

  const std::function<void(std::vector<ServerWait>)> on_waits_;
  TimeNs next_waits_ = 0;  // the connection's thread only, as the next one
  bool waited_ = false;    // the last report had some
  const Clock& clock_ = RealClock();
  const std::unique_ptr<ClientPort> port_;
  const std::unique_ptr<WorkPool> threads_;
  std::string client_id_;
  ClientCore core_;  // the connection's thread only
  Mutex mutex_;
  std::vector<Action> actions_ STRATA_GUARDED_BY(mutex_);
  bool stopping_ STRATA_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace strata::client
