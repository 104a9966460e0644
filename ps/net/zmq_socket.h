// One ZeroMQ socket with Strata's options set, and messages in and out of it without copies.
// Internal to ps/net.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/message_port.h"
#include "ps/net/zmq_port.h"
#include "strata/status.h"

namespace strata::net {

// libzmq's defaults let one peer make a server reserve gigabytes with nine bytes, hang its exit, or
// lose replies without a word; each constant replaces such a default.
constexpr int64_t kFrameBytesMax = int64_t{64} << 20;  // default: no limit
constexpr int kHandshakeMs = 5'000;                    // default: 30 s
constexpr int kHeartbeatMs = 1'000;                    // default: off
constexpr int kHeartbeatTimeoutMs = 5'000;
constexpr int kConnectTimeoutMs = 5'000;  // default: the kernel's two minutes
constexpr int kReconnectMaxMs = 1'000;    // from 100 ms, doubling
constexpr int kBacklog = 1'024;           // default: 100 pending connections
constexpr int kMessagesQueuedMax = 64;    // each way and peer; default 1,000, whatever their size

// Bytes handed to ZeroMQ that it has not let go of yet. Shared with its I/O threads.
using QueuedBytes = std::atomic<size_t>;

// Where a message came from: the connection's descriptor, -1 when that is not known, and the bytes
// that it had there.
struct MessageSource {
  int descriptor = -1;
  size_t bytes = 0;
};

enum class SocketKind { kRouter, kDealer };

class ZmqSocket {
 public:
  static Result<std::unique_ptr<ZmqSocket>> Open(std::shared_ptr<ZmqContext> context,
                                                 SocketKind kind, const ZmqPortOptions& options);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  void* handle() const { return handle_; }
  void* context() const { return context_->handle(); }

  // Sends the routing id when `route` is not null, then the frames. Never blocks; nothing is sent
  // unless the status is OK. kRefused: the queue is full (or, for a dealer, not connected); kLost:
  // no such route.
  Status Send(const std::string* route, const Message& message,
              const std::shared_ptr<QueuedBytes>& queued);
  // The next message, if one is there; `with_route`: its first frame becomes the peer's name.
  // `source`, unless it is null: where the message came from.
  Result<std::optional<Envelope>> TryReceive(bool with_route, MessageSource* source = nullptr);

 private:
  ZmqSocket(std::shared_ptr<ZmqContext> context, void* handle)
      : context_(std::move(context)), handle_(handle) {}
  std::shared_ptr<ZmqContext> context_;
  void* handle_;
};

// kInvalid when a peer's limits would make it drop the message.
Status CheckSendable(const Message& message);
// kRefused: `queued` bytes wait, and `bytes` more would be above the limit.
Status QueueFull(size_t queued, size_t bytes, size_t limit);

// An event that any thread can raise and zmq_poll can wait for.
class WakeEvent {
 public:
  WakeEvent();
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;
  Status status() const;  // kFailed when the system gave no descriptor
  int descriptor() const { return descriptor_; }
  void Raise();
  void Clear();

 private:
  int descriptor_;
  int error_;
};

// Milliseconds for zmq_poll until `deadline`, rounded up; -1 for kNever.
long PollMilliseconds(const Clock& clock, TimeNs deadline);

}  // namespace strata::net
