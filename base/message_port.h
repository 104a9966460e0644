// The seam to the data-plane network: multi-frame messages between named peers. The real form is
// ZeroMQ (ps/net); the simulated one (tests/support/sim_network.h) drops, delays, reorders, repeats
// and partitions from a seed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"

namespace strata {

// Bytes that somebody owns. Copying a Frame shares the bytes; they are immutable from then on.
// The owner may be a vector, a received ZeroMQ message, a table's slab: nothing is copied to send.
class Frame {
 public:
  Frame() = default;
  Frame(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  static Frame Copy(std::span<const std::byte> bytes);
  // Takes over a vector of trivially copyable elements.
  template <typename T>
  static Frame Own(std::vector<T> values) {
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    return Frame(owner, std::as_bytes(std::span<const T>(*owner)));
  }

  // Bytes `begin` to `begin` + `size` - 1, which share the owner.
  Frame Part(size_t begin, size_t size) const { return {owner_, bytes_.subspan(begin, size)}; }

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  size_t size() const { return bytes_.size(); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

using Message = std::vector<Frame>;
size_t MessageBytes(const Message& message);

// A message and the peer it came from or goes to. What a peer's name means is the port's affair:
// an endpoint ("tcp://10.0.0.1:7600") for a client, a routing id for a server.
struct Envelope {
  std::string peer;
  Message message;
  // A port sets this when the payload of a message that it received agrees with its checksum. The
  // message is then not compared again.
  bool is_checked = false;
};

// One end of the network, owned by one thread.
class MessagePort {
 public:
  virtual ~MessagePort() = default;
  // Queues a message; never blocks. kRefused when the queue to that peer is full, kLost when the
  // peer is known to be gone. Delivery is not promised: whoever needs it retries.
  virtual Status Send(Envelope envelope) = 0;
  // The next message, or nothing once `deadline` has passed (on the port's clock) or Wake was
  // called.
  virtual Result<std::optional<Envelope>> Receive(TimeNs deadline) = 0;
  // Ends a Receive that is waiting. The one member that any thread may call.
  virtual void Wake() = 0;
};

}  // namespace strata
