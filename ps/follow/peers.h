// Peers: this server as a client of all servers of its cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "ps/client/remote_store.h"
#include "strata/status.h"

namespace strata {

// Thread-safe.
class Peers {
 public:
  Peers(uint64_t cluster_id, uint16_t rank) : cluster_id_(cluster_id), rank_(rank) {}

  // Their addresses, as of RemoteStoreOptions.
  void SetServers(std::vector<std::string> servers);
  // Connects, if nobody has yet. kUnavailable: nobody has said where they are, or they do not all
  // answer; to be tried again.
  Result<std::shared_ptr<RemoteStore>> Get();
  // One of the servers came back without what it had: the next Get connects again.
  void Drop(const std::shared_ptr<RemoteStore>& lost);
  // What is under way ends with kCancelled, and Get fails.
  void Stop();

 private:
  Status CheckGoing(std::vector<std::string>* servers);

  const uint64_t cluster_id_;
  const uint16_t rank_;
  Mutex connecting_;  // held while one connects
  Mutex mutex_;
  std::vector<std::string> servers_ STRATA_GUARDED_BY(mutex_);
  std::shared_ptr<RemoteStore> store_ STRATA_GUARDED_BY(mutex_);
  bool is_stopped_ STRATA_GUARDED_BY(mutex_) = false;
};

}  // namespace strata
