// RemoteStore: a cluster of servers as a TableStore. One or several connections, each a ClientCore
// on a thread of its own, over ZeroMQ, or past it to servers of this host and of this process;
// operations go in through a queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ps/client/lane_caller.h"
#include "ps/client/lane_exchange.h"
#include "ps/client/server_wait.h"
#include "storage/table.h"

namespace strata {

struct RemoteStoreOptions {
  // Each server's "host:port", or "inproc://NAME" of one in this process (ServerOptions::inproc),
  // in the order of the machine list.
  std::vector<std::string> servers;
  // Ranks of servers that are known to be down: Connect does without them, and what goes to them is
  // kLost. At least one other is there.
  std::vector<uint16_t> absent = {};
  uint64_t cluster_id = 0;  // Hash64 of the cluster's name
  std::string client_name;  // for people: "worker 3"
  TimeNs connect_timeout = 30 * kSecond;
  TimeNs request_timeout = 60 * kSecond;   // of an operation without a deadline of its own
  TimeNs server_lost_after = 5 * kSecond;  // silence after which a server counts as lost
  // As ClientCoreOptions, as are the names of the settings, which errors name.
  bool waits_for_servers = false;
  std::string request_timeout_name = {};
  std::string server_lost_name = {};
  // The servers that do not serve and that operations wait for: about once a second while there are
  // any, and once when there are none any more. Called on a store's thread; must return at once.
  std::function<void(std::vector<ServerWait>)> on_waits = {};
  size_t lane_bytes_in_flight = size_t{32} << 20;  // flow control: the rest waits in the client
  // So many threads copy the keys and rows of large operations; the store's own are among them.
  int threads = 1;
  // 1, 2 or 4, each a client of the servers with a thread, among which keys are divided: for steps
  // of many keys, whose bytes one thread cannot check and copy fast enough. A lane then works on
  // the keys of one while those of the next are on their way. All ranks of a SyncGroup need as
  // many.
  int connections = 1;
  // Share memory with the servers of this host that offer it; false: tcp to all of them.
  bool shared_memory = true;
};

// Thread-safe. Completions run on a thread of the store: they may submit, but not wait.
class RemoteStore final : public TableStore, public LaneCaller, public LaneExchange {
 public:
  // Returns when all servers have answered HELLO and agree on the shard map. kLost names the
  // servers that did not answer, at once where this process has no server of an inproc name;
  // kRefused, kInvalid: a server is of another cluster, version or machine list.
  static Result<std::unique_ptr<RemoteStore>> Connect(const RemoteStoreOptions& options);
  // Ends what is open with kCancelled.
  ~RemoteStore() override;

  Status CreateTable(const TableSpec& spec) override;
  Status DropTable(const std::string& name) override;
  Result<std::vector<TableSpec>> ListTables() override;
  void Submit(Operation operation, Completion done) override;

  // Waits for no operation, and none waits for it. Not from a completion.
  Result<std::vector<wire::Received>> CallLanes(LaneCall call) override;

  // Not from a completion.
  Result<std::vector<wire::Received>> Exchange(LaneMessages messages) override;
  wire::ShardMap Map() override;

  // The ids by which servers know the connections: strata-admin clients lists them.
  std::vector<std::string> ClientIds() const;

  // How each lane is reached now, in the order of the shard map: "tcp://host:port", "shm://NAME" or
  // "inproc://NAME/LANE". Shared memory takes over a moment after a server was greeted. Not from a
  // completion.
  std::vector<std::string> LaneEndpoints();

  // Ends everything that is open, and all that comes later, with this status: how a trainer lets go
  // of a synchronous step that a dead rank will never finish.
  void Abort(const Status& status);

 private:
  struct Impl;
  explicit RemoteStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
