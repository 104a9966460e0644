// The tables of a running cluster, for commands that change or read rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/cluster_config.h"
#include "ps/client/remote_store.h"
#include "strata/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

// Connects within the timeout to all servers but those of `absent`, by rank.
Result<std::unique_ptr<RemoteStore>> ConnectStore(const ClusterConfig& config, TimeNs timeout,
                                                  const std::vector<uint16_t>& absent = {});
// The same for the request's cluster, after asking each server how it is: the error names every one
// that is down or refuses.
Result<std::unique_ptr<RemoteStore>> ConnectStore(const Request& request);

// The same for what all servers must do or none: kRefused, before anything is done, when one of
// them takes no writes.
Result<std::unique_ptr<RemoteStore>> ConnectForAll(const Request& request);

// The servers of a cluster that are up, for commands that can do with some.
struct ReachableStore {
  std::unique_ptr<RemoteStore> store;
  std::vector<uint16_t> absent;  // ranks of the others
  Status verdict;                // what is wrong with these; OK when there are none

  // The keys whose rows are on servers that are up.
  std::vector<Key> Reachable(const std::vector<Key>& keys) const;
  // OK when all keys are reachable; else the verdict, with the keys that are not.
  Status CheckAllReachable(const std::vector<Key>& keys) const;
};
// The verdict when no server is up, or one refuses.
Result<ReachableStore> ConnectReachable(const Request& request);
// kNotFound: there is no such table; says how to see those that there are.
Result<TableSpec> FindTable(TableStore& store, const std::string& name);
// Likewise; the verdict instead while a server that is down may have it.
Result<TableSpec> FindTable(const ReachableStore& reachable, const std::string& name);

}  // namespace strata::admin
