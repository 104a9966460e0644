// A cluster of servers, seen from a client: its tables and its collections.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "strata/collection_store.h"
#include "strata/status.h"
#include "strata/table_store.h"
#include "strata/time.h"

namespace strata {

struct ClusterOptions {
  // Each server's "host:port", in the order of the machine list, or "inproc://NAME" of one in this
  // process (strata/server.h).
  std::vector<std::string> servers = {};
  std::string name = "strata";   // the cluster's: cluster.name of cluster.toml
  std::string client_name = {};  // for people: "ranker 3"
  TimeNs connect_timeout = 30 * kSecond;
  TimeNs request_timeout = 60 * kSecond;   // of an operation without a deadline of its own
  TimeNs server_lost_after = 5 * kSecond;  // silence after which a server counts as lost
  // Share memory with the servers of this host that offer it; false: tcp to all of them.
  bool shared_memory = true;
};

// The options that a cluster.toml gives. kNotFound: there is no such file; kInvalid names file,
// line and column.
Result<ClusterOptions> ReadClusterFile(const std::string& path);

// Thread-safe. Completions of operations run on a thread of the cluster's: they may submit, but not
// wait.
class Cluster {
 public:
  // Returns when all servers have answered and agree on who holds which rows. kLost names the
  // servers that did not answer, at once where this process has no server of an "inproc://NAME":
  // start it before. kRefused and kInvalid: a server is of another cluster, version or machine
  // list. kInvalid also: no address, at once, or a name that did not resolve in all the time.
  static Result<std::unique_ptr<Cluster>> Connect(const ClusterOptions& options);
  // Ends what is open with kCancelled.
  ~Cluster();

  // Both live as long as the cluster.
  TableStore& tables();
  CollectionStore& collections();

  // Ends everything that is open, and all that comes later, with this status.
  void Abort(const Status& status);

 private:
  struct Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
