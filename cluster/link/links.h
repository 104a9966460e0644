// Links: this rank's connections to its circulant peers (topology/peers.h), and to any other rank
// from the first exchange with it on. Every rank listens on its own port of the machine list; of
// two peers the higher rank dials. Between two peers there are two connections: one for
// collectives, used by the calling thread alone, and one for heartbeats, aborts and goodbyes, kept
// by the I/O thread. Two ranks of one host exchange through memory that both share instead of the
// first.
//
// A failure anywhere (a peer's process ends or falls silent, ranks disagree, a deadline, Cancel) is
// final: it floods over all links, so that every rank of the group ends with an error that names
// the rank to blame, within 2 s when a process dies and peer_lost_after when it falls silent.
//
// The listening port also answers strata-admin (query.h), from Listen on until destruction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cluster/link/connect/listener.h"
#include "cluster/link/exchange/exchange.h"
#include "cluster/tls/tls_context.h"
#include "cluster/topology/machine_list.h"
#include "strata/status.h"

namespace strata {

struct LinkOptions {
  std::vector<Machine> workers;  // in rank order; all ranks have the same ones
  int rank = 0;
  std::string cluster;  // cluster and job together name the group
  std::string job;
  std::string secret;                               // "": none
  std::shared_ptr<const TlsContext> tls = nullptr;  // of all connections; null: without TLS
  bool insecure = false;      // allow to listen beyond loopback without secret and TLS
  bool shared_memory = true;  // with ranks of this host that allow it, too; else sockets
  TimeNs connect_timeout = 60 * kSecond;
  TimeNs heartbeat_every = kSecond;
  TimeNs peer_lost_after = 10 * kSecond;
  TimeNs accept_timeout = 5 * kSecond;  // for a handshake, either side
  // Of a group that follows one that has failed (regroup.h): how many there were before it, and its
  // processes in rank order.
  uint64_t generation = 0;
  std::vector<uint64_t> processes = {};

  // Whether strangers are told from ranks.
  bool has_proof() const { return !secret.empty() || tls != nullptr; }
};

namespace link_internal {
class Hub;
}

class Links final : public Exchanger {
 public:
  // Listens on the address of workers[rank] and starts the I/O thread. kFailed: the port is in use
  // or the address not this machine's; kRefused: beyond loopback with neither secret,
  // TLS nor `insecure`.
  static Result<std::unique_ptr<Links>> Listen(LinkOptions options);
  // The same over a socket that listens already (workers[rank].port is its port).
  static Result<std::unique_ptr<Links>> Listen(LinkOptions options, Listener listener);
  // Closes everything. Without Leave before it, the peers count this rank as lost.
  ~Links() override;

  // Both are called on the I/O thread and must return at once. The answers go to strata-admin. A
  // control request's answer is written after the handler has returned: to end the process, let it
  // ask the main thread.
  void SetStatusProvider(std::function<std::string()> provider);
  void SetControlHandler(std::function<std::string(std::string_view)> handler);
  // Called once, on the I/O thread, when the group fails (at once if it has failed already), after
  // the peers have been told. Must not destroy the Links.
  void OnFailure(std::function<void(const Status&)> callback);

  // Returns once all circulant peers are linked. kLost after connect_timeout: names the missing
  // ranks and what was seen of each. kRefused: a peer turned this process down (another claims its
  // rank, other secret, job, world or protocol version), or TLS does not let them together.
  Status Connect();

  int rank() const override;
  int world() const override;
  const LinkOptions& options() const;
  Status Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                  TimeNs deadline) override;

  // Whether Connect has succeeded. By the thread that calls it.
  bool connected() const;
  // How many ranks this one is connected to.
  int open_links() const;

  // With kLost elsewhere.
  void Cancel(const Status& why) override;
  // The group's failure, or OK. Any thread.
  Status Failure() const;

  // The end of a job that has succeeded: says goodbye and waits until all peers have done so, at
  // most `timeout` (then it leaves all the same). Returns the failure if the group fails meanwhile.
  Status Leave(TimeNs timeout);

  // As the destructor does, and hands on the listening socket: whoever dials it from now on waits
  // for the next to accept. Calls return errors from here on. By the thread that destroys.
  Listener Close();

  // Opens the socket on which workers[rank] listens. Errors as those of Listen.
  static Result<Listener> Open(const LinkOptions& options);

 private:
  explicit Links(std::unique_ptr<link_internal::Hub> hub);
  std::unique_ptr<link_internal::Hub> hub_;
};

}  // namespace strata
