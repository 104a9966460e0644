// ClientPort: the client's end of all connections to servers: over tcp, and past it where a server
// is on this host or in this process.
//
// A peer's name is its endpoint: "tcp://host:port" or "inproc://name". A lane that is known by a
// tcp endpoint may also have been told of an shm one; once shared memory is there, what is sent to
// the tcp name goes through it, and what comes through it bears that name. When it ends, the peer
// is reached over tcp again.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "ps/net/zmq_port.h"

namespace strata {

// Threads: as MessagePort.
class ClientPort final : public MessagePort {
 public:
  struct Options {
    size_t queue_bytes_max = size_t{256} << 20;  // bytes waiting to be sent to one peer
    const Clock* clock = &RealClock();
    LogLevel routes = LogLevel::kInfo;  // of the lines that say how a server is reached
  };

  static Result<std::unique_ptr<ClientPort>> Create(std::shared_ptr<ZmqContext> context,
                                                    const Options& options);
  // Waits up to a second for peers that have not taken what was sent to them.
  ~ClientPort() override;

  // Whether a lane of this process has that name, "inproc://NAME/LANE", now.
  static bool IsInThisProcess(const std::string& endpoint);

  // A lane's two endpoints. An empty `shared`: it has none.
  struct Lane {
    std::string tcp;
    std::string shared;
  };
  // Tries to share memory with the lanes of a server, in place of what was shared with it before.
  // The log says in one line, in the name of `server`, how it is reached, and why.
  void ShareMemory(const std::string& server, std::span<const Lane> lanes);
  // The endpoint through which a peer is reached now: "shm://...", or its own name.
  std::string RouteOf(const std::string& peer) const;

  // As ZmqDealerPort's. kLost: no server of this process has that inproc name.
  Status Send(Envelope envelope) override;
  Result<std::optional<Envelope>> Receive(TimeNs deadline) override;
  void Wake() override;

 private:
  struct Impl;
  explicit ClientPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
