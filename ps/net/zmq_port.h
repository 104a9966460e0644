// The data plane's real network: MessagePorts over ZeroMQ. A server binds a ROUTER for each lane, a
// client holds one DEALER for each endpoint it talks to. Frames travel without being copied: a
// received frame owns its ZeroMQ message, a sent one is kept alive until ZeroMQ lets go of it.
//
// Threads: a port belongs to one thread at a time (it may be made on another one); only Wake may be
// called from anywhere. Every socket has a maximal frame size, heartbeats, a handshake limit, a
// bounded linger and a byte budget for what waits to be sent; the constants are in zmq_socket.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/message_port.h"
#include "strata/status.h"

namespace strata {

// ZeroMQ's I/O threads. Ports share it; it ends with the last of them.
class ZmqContext {
 public:
  // kRefused when the installed libzmq is older than 4.3.3, the first release without known remote
  // holes. One I/O thread carries about 2 GB/s.
  static Result<std::shared_ptr<ZmqContext>> Create(int io_threads = 1);
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

  void* handle() const { return handle_; }

 private:
  explicit ZmqContext(void* handle) : handle_(handle) {}
  void* handle_;
};

struct ZmqPortOptions {
  size_t queue_bytes_max = size_t{256} << 20;  // bytes waiting to be sent to one peer
  TimeNs linger = kSecond;                     // how long closing waits for unsent messages
  const Clock* clock = &RealClock();           // what Receive's deadlines are on
  // Dealer: keep a reply that was received but not yet read when its connection ends, as that of a
  // server which is shutting down. In exchange a message may wait in ZeroMQ for a connection.
  bool keep_last_reply = false;
  // A descriptor that ends a Receive which waits, as Wake does, while it is readable; -1: none.
  int watch = -1;
  // Router: how many connections it has at most (half of them of one address), and what to call
  // for each that is ended, as there are too many or it has sent too much of a message without an
  // end. Called by the thread that receives.
  size_t connections_max = 4096;
  std::function<void()> on_closed = [] {};
};

// The server's side. A peer's name is the routing id that ZeroMQ gave its connection; it means
// nothing outside this port and dies with the connection.
class ZmqRouterPort final : public MessagePort {
 public:
  // Listens on host:port; port 0 picks a free one. Host names are resolved once. kFailed names the
  // address, the cause and the remedy.
  static Result<std::unique_ptr<ZmqRouterPort>> Bind(std::shared_ptr<ZmqContext> context,
                                                     const std::string& host, uint16_t port,
                                                     const ZmqPortOptions& options = {});
  ~ZmqRouterPort() override;

  uint16_t port() const;
  const std::string& endpoint() const;  // "tcp://127.0.0.1:7600"

  // kLost when the connection is gone, kRefused when its queue is full, kInvalid for a message that
  // no peer would accept (a frame too large, too many frames).
  Status Send(Envelope envelope) override;
  // A message of more than kFramesMax + 1 frames is cut one frame after them, so that wire::Open
  // refuses it.
  Result<std::optional<Envelope>> Receive(TimeNs deadline) override;
  void Wake() override;

 private:
  struct Impl;
  explicit ZmqRouterPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The client's side. A peer's name is its endpoint, "tcp://host:port".
class ZmqDealerPort final : public MessagePort {
 public:
  static Result<std::unique_ptr<ZmqDealerPort>> Create(std::shared_ptr<ZmqContext> context,
                                                       const ZmqPortOptions& options = {});
  ~ZmqDealerPort() override;

  // The first Send to an endpoint opens its connection. While there is none, messages wait here,
  // within the byte budget, and go out from Receive; a connection that breaks is made again, and
  // what was on it is lost.
  Status Send(Envelope envelope) override;
  Result<std::optional<Envelope>> Receive(TimeNs deadline) override;
  void Wake() override;

 private:
  struct Impl;
  explicit ZmqDealerPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
