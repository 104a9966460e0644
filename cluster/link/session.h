// Frames and handshakes over one Asio socket, as coroutines. Internal to cluster/link.
// Arguments by reference must live until the coroutine has ended: callers name them in variables of
// their own frame (temporaries within a co_await expression are destroyed twice by GCC 12).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/link/frame.h"
#include "cluster/link/handshake.h"

namespace strata::link_internal {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using SocketPtr = std::shared_ptr<Tcp::socket>;

// Closes the socket when it is still alive after `timeout`, which ends every wait on it.
class SocketDeadline {
 public:
  SocketDeadline(const SocketPtr& socket, TimeNs timeout);
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
asio::awaitable<Result<LinkFrame>> ReadFrame(Tcp::socket& socket, uint64_t bytes_max);
asio::awaitable<Status> WriteFrame(Tcp::socket& socket, const LinkHeader& header,
                                   const std::string& body);

// The dialer's side up to and with the confirm. An error prefixed by nothing: the caller knows whom
// it dialled. kRefused: the other side said no, with its reason.
asio::awaitable<Status> DialHandshake(Tcp::socket& socket, const LinkHello& hello,
                                      const LinkKey& key);

// The acceptor's side up to the verdict. `judge` is asked once the proof has been checked; what it
// answers is the verdict.
using Judgement = std::function<Status(const LinkHello&)>;
asio::awaitable<Result<LinkHello>> AcceptHandshake(Tcp::socket& socket, const LinkKey& key,
                                                   const Judgement& judge);

// Reads a request of strata-admin and answers that it is refused, and why.
asio::awaitable<Status> RefuseRequest(Tcp::socket& socket, const std::string& why);

// Options of every link's socket.
void PrepareSocket(Tcp::socket& socket);

// "10.0.0.2:5000", or "an unknown address" once the peer is gone.
std::string RemoteText(const Tcp::socket& socket);

// A status code as it came from a peer; kFailed for numbers that no code has.
StatusCode CodeFromWire(uint64_t code);

}  // namespace strata::link_internal
