// Frames and handshakes over one connection, as coroutines. Internal to cluster/link.
// Arguments by reference must live until the coroutine has ended: callers name them in variables of
// their own frame (temporaries within a co_await expression are destroyed twice by GCC 12).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "cluster/link/connect/connection.h"
#include "cluster/link/connect/frame.h"
#include "cluster/link/connect/handshake.h"
#include "cluster/tls/tls_context.h"
#include "strata/status.h"

namespace strata::link_internal {

// Closes the connection when this is still alive after `timeout`, which ends every wait on it.
class SocketDeadline {
 public:
  SocketDeadline(const ConnectionPtr& connection, TimeNs timeout);
  ~SocketDeadline();
  SocketDeadline(const SocketDeadline&) = delete;
  SocketDeadline& operator=(const SocketDeadline&) = delete;
  bool passed() const { return *passed_; }

 private:
  asio::steady_timer timer_;
  std::shared_ptr<bool> armed_;
  std::shared_ptr<bool> passed_;
};

struct LinkFrame {
  LinkHeader header;
  std::string body;
};

// kLost: the peer closed or reset. kCorrupt, kRefused: see DecodeLinkHeader; kRefused also when the
// body would be longer than bytes_max (nothing is read or allocated then).
asio::awaitable<Result<LinkFrame>> ReadFrame(Connection& connection, uint64_t bytes_max);
asio::awaitable<Status> WriteFrame(Connection& connection, const LinkHeader& header,
                                   const std::string& body);

// What this process proves to the other side, and asks of it.
struct LinkProof {
  LinkKey key;
  std::shared_ptr<const TlsContext> tls;  // null: without TLS
};

// The dialer's side up to and with the confirm, beginning with TLS. An error prefixed by nothing:
// the caller knows whom it dialled. kRefused: the other side said no, with its reason, or is not
// taken here.
asio::awaitable<Status> DialHandshake(Connection& connection, const LinkHello& hello,
                                      const LinkProof& mine);

// The acceptor's side up to the verdict. `judge` is asked once the proof has been checked; what it
// answers is the verdict.
using Judgement = std::function<Status(const LinkHello&)>;
asio::awaitable<Result<LinkHello>> AcceptHandshake(Connection& connection, const LinkProof& mine,
                                                   const Judgement& judge);

// Reads a request of strata-admin and answers that it is refused, and why.
asio::awaitable<Status> RefuseRequest(Connection& connection, const std::string& why);

// A status code as it came from a peer; kFailed for numbers that no code has.
StatusCode CodeFromWire(uint64_t code);

}  // namespace strata::link_internal
