// Rendezvous: ranks that know only one address find each other. Rank 0 listens there, the others
// dial it, say on which port they listen, and are told of all once the last one has come. So nobody
// needs a machine list, and only one port has to be agreed on. Then Links takes over; the meeting
// place is where rank 0 listens from then on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/link/connect/listener.h"
#include "cluster/tls/tls_context.h"
#include "cluster/topology/machine_list.h"
#include "strata/status.h"

namespace strata {

struct RendezvousOptions {
  std::string host;  // of rank 0, as the others reach it
  uint16_t port = 0;
  int rank = 0;
  int world = 1;
  uint16_t own_port = 0;  // where this rank listens, other than rank 0; 0: a free one
  std::string cluster;    // cluster and job together name the group
  std::string job;
  std::string secret;                               // "": none
  std::shared_ptr<const TlsContext> tls = nullptr;  // of all connections; null: without TLS
  bool insecure = false;  // allow to listen beyond loopback without secret and TLS
  TimeNs timeout = 60 * kSecond;
  TimeNs accept_timeout = 5 * kSecond;  // for a handshake, either side

  // Whether strangers are told from ranks.
  bool has_proof() const { return !secret.empty() || tls != nullptr; }
};

struct Meeting {
  std::vector<Machine> workers;  // in rank order, with numeric addresses as rank 0 saw them
  Listener listener;             // of this rank, for Links::Listen
};

// Returns when all ranks have met. A rank whose process ends meanwhile gives its place up to
// another. kLost after `timeout`: names the ranks that have not come, or says why rank 0 cannot be
// reached. Who has come by then waits up to `accept_timeout` longer for rank 0 to
// say whom it misses. kRefused: the secrets, jobs, numbers of ranks or protocol versions differ,
// the rank is taken, rank 0's group has met already, or TLS does not let them together. kFailed,
// kInvalid: the port or the host is no good. Blocks; thread-safe.
Result<Meeting> Meet(const RendezvousOptions& options);

}  // namespace strata
