// Server: a parameter server in this process. Lanes with a thread and a port each, a control
// thread, and HTTP for metrics and health. With a data folder it goes on where the process before
// it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "ps/service/table_factory.h"
#include "storage/itemset/planned_search.h"
#include "strata/status.h"

namespace strata {

struct ServerOptions {
  uint64_t cluster_id = 0;
  std::string cluster_name = {};                 // whose hash that is, for messages
  uint16_t rank = 0;                             // this server's index in the machine list
  std::vector<uint16_t> lanes_per_server = {1};  // of all servers
  std::string host = "127.0.0.1";
  uint16_t port = 7600;  // of lane 0; 0 picks a free one
  // Offer clients of this host to share memory; tcp is there for them too.
  bool shared_memory = true;
  // A name by which stores of this process reach the server as "inproc://NAME"; empty: only as
  // others do. kExists when another server of the process has it.
  std::string inproc;
  TableFactoryOptions tables;  // of all lanes
  // Each lane's: of requests that wait, and of replies that wait for one client to read them.
  size_t queue_bytes_max = size_t{256} << 20;
  std::string http_host = "127.0.0.1";
  int http_port = -1;  // 0 picks a free one, -1: no HTTP
  TimeNs shutdown_timeout = 10 * kSecond;
  // Refuse to listen where other machines could reach the port (kRefused).
  bool loopback_only = true;
  // Folder that keeps the state; empty: memory only.
  std::string data;
  uint64_t log_bytes_max = 0;  // of all lanes' logs; 0: no limit
  // Folder of the cluster's checkpoints, which all servers share. Empty: that of the data folder
  // when there is but one server, otherwise no checkpoints are kept.
  std::string checkpoints;
  uint32_t checkpoints_kept = 3;
  // A log could not be written or synced: no reply leaves any more. Null: says so and ends the
  // process with exit code 70. Called on a server's thread.
  std::function<void(const Status&)> on_log_failure;
  // A CONTROL shutdown has been answered: the owner is to call Stop. Called on a server's thread.
  std::function<void()> on_shutdown;
  // What searches of collections are planned by; nothing: what the machine is measured to do.
  std::optional<SearchRates> search_rates;
  // Where all servers of the cluster are, in the order of their ranks ("host:port"), for those that
  // keep copies of each other's documents. Empty: SetServers will say.
  std::vector<std::string> servers;
  const Clock* clock = &RealClock();  // outlives the server, as the disk
  Disk* disk = &RealDisk();
};

// Thread-safe.
class Server {
 public:
  // Serves once it returns, what the data folder holds included; meanwhile its ports answer
  // kUnavailable. Errors of the data folder name what is wrong with it. kRefused for a host beyond
  // loopback while loopback_only; kFailed names the address that cannot be listened on and the
  // remedy; kInvalid for a rank or lanes that make no shard map.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  ~Server();  // Stop and Join

  // Refuses new writes at once, waits for steps that have begun for at most the shutdown timeout,
  // then ends the lanes. Blocks meanwhile; idempotent.
  void Stop();
  void Join();

  // ServerOptions::servers, where that is known only once all of them run.
  void SetServers(std::vector<std::string> servers);
  uint16_t port() const;       // of lane 0
  uint16_t http_port() const;  // 0 when off
  const std::vector<uint16_t>& lane_ports() const;
  uint64_t incarnation() const;
  // "rank 0 tcp://127.0.0.1:7600 lanes 2 http http://127.0.0.1:41233 data memory-only incarnation
  // 1f...".
  std::string Description() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
