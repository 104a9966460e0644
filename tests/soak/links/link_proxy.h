// A piece of network between two ranks that can break: what one of them dials is accepted here,
// dialled to the other and forwarded in both directions, until it is told otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <thread>
#include <vector>

#include "cluster/link/connect/listener.h"

namespace strata::soak {

class LinkProxy {
 public:
  enum class State : uint8_t {
    kForwards,
    kStopped,   // nothing is read any more, nothing closed: the cable is out
    kSwallows,  // everything is read and goes nowhere, nothing is closed: half-open
    kReset,     // the connections end with a reset, both ends of them
  };

  // Forwards to `port` of loopback. Listens from here on; nothing moves before Start.
  explicit LinkProxy(uint16_t port);
  ~LinkProxy();
  LinkProxy(const LinkProxy&) = delete;
  LinkProxy& operator=(const LinkProxy&) = delete;

  uint16_t port() const { return listener_.port; }
  void Start();  // of the thread: not before the last fork
  // At once, for good, for the connections whose bit of `which` is set, in the order of dialling.
  void Break(State state, uint32_t which);

 private:
  // Bytes on their way in one direction.
  struct Way {
    std::vector<char> bytes = std::vector<char>(64 << 10);
    size_t begin = 0;
    size_t end = 0;
    bool closed = false;  // no more will come, and the other side knows
  };
  struct Connection {
    OwnedFd sides[2];
    Way ways[2];  // [i]: from sides[i] to the other
    bool broken = false;
  };

  void Run();
  void Accept();
  void Forward(Connection* connection, int from);
  void Swallow(Connection* connection);
  bool IsBroken(size_t number) const { return (which_.load() >> number & 1) != 0; }

  const uint16_t target_;
  Listener listener_;
  OwnedFd wake_;
  std::list<Connection> connections_;
  std::atomic<State> state_ = State::kForwards;
  std::atomic<uint32_t> which_ = 0;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace strata::soak
