// LanePort: the port of a server's lane, at all of its endpoints at once: tcp, shm for processes of
// this host, inproc for this process.
//
// A peer's name means nothing outside the port and dies with the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ps/net/zmq_port.h"

namespace strata {

struct LanePortOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;                           // 0 picks a free one
  bool shared_memory = true;                   // offer shm, if the system has it
  std::string inproc = {};                     // "inproc://NAME"; empty: none
  size_t queue_bytes_max = size_t{256} << 20;  // bytes waiting to be sent to one peer
  const Clock* clock = &RealClock();
  size_t connections_max = 4096;            // of tcp: ZmqPortOptions
  std::function<void()> on_closed = [] {};  // likewise
};

// Threads: as MessagePort; a port may be made on another thread than the one that uses it.
class LanePort final : public MessagePort {
 public:
  // Errors of tcp are ZmqRouterPort::Bind's. kExists: the inproc name is taken. A system that has
  // no shared memory is none: there is no such endpoint then, and the log says why.
  static Result<std::unique_ptr<LanePort>> Bind(std::shared_ptr<ZmqContext> context,
                                                const LanePortOptions& options);
  // Waits up to a second for peers that have not taken what was sent to them.
  ~LanePort() override;

  uint16_t port() const;                       // of tcp
  const std::string& shared_endpoint() const;  // "shm://NAME"; empty: none

  // As ZmqRouterPort's, whatever the peer came through.
  Status Send(Envelope envelope) override;
  Result<std::optional<Envelope>> Receive(TimeNs deadline) override;
  void Wake() override;

 private:
  struct Impl;
  explicit LanePort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
