// Connection: one Asio socket, and TLS over it where that is configured. Internal to cluster/link.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/link/connect/listener.h"
#include "cluster/tls/tls_stream.h"
#include "strata/status.h"

namespace strata::link_internal {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

// All on the thread that runs the socket's io_context. One may read while another writes. What is
// waited for ends with kLost when the connection is closed, by either side.
class Connection {
 public:
  // The socket is connected, or will be through socket().
  explicit Connection(Tcp::socket socket) : socket_(std::move(socket)) {}

  Tcp::socket& socket() { return socket_; }
  bool is_open() const { return socket_.is_open(); }
  void Close();
  // The options of every link's socket.
  void Prepare();
  // "10.0.0.2:5000", or "an unknown address" once the peer is gone.
  std::string Remote() const;

  // The first byte that the other side sends; it is read again by what comes next.
  asio::awaitable<Result<std::byte>> Peek();
  // TLS from here on, over this socket, once the handshake is done. kRefused, kCorrupt: as
  // TlsStream::fault says.
  void BeginTls(std::unique_ptr<TlsStream> tls) { tls_ = std::move(tls); }
  asio::awaitable<Status> ShakeHands();

  // All of the bytes, which the caller keeps until then.
  asio::awaitable<Status> Read(std::span<std::byte> bytes);
  asio::awaitable<Status> Write(std::string_view bytes);
  // What can be written without waiting, of a non-blocking socket; returns how many bytes that
  // were. The next write begins with the byte behind them.
  size_t WriteNow(std::string_view bytes);
  // Lets the other side read what was written last: sends no more, and waits for it to close.
  asio::awaitable<void> Farewell();

  // For another thread, with the bytes that TLS has read ahead. The connection is over here.
  struct Parts {
    OwnedFd socket;
    std::unique_ptr<TlsStream> tls;  // null: without TLS
  };
  Parts Release();

 private:
  asio::awaitable<Status> Await(Tcp::socket::wait_type event);
  asio::awaitable<Status> AfterTls(ssize_t result, int error, short event);

  Tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;
};

using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace strata::link_internal
