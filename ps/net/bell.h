// Bell: what wakes a thread that sleeps in poll, from another thread of the process. Internal to
// ps/net.
#pragma once

#include <atomic>

#include "ps/net/zmq_socket.h"

namespace strata::net {

// Whoever sleeps calls Listen, looks once more for what it waits for, and sleeps until the event's
// descriptor is readable. Thread-safe.
class Bell {
 public:
  void Listen() { listened_.store(true); }
  void Wake() { listened_.store(false, std::memory_order_relaxed); }
  // Behind a change of what is waited for, under the lock that the sleeper looks under.
  void RingIfListened() {
    if (listened_.load() && listened_.exchange(false)) event_.Raise();
  }
  void Ring() { event_.Raise(); }
  WakeEvent& event() { return event_; }

 private:
  std::atomic<bool> listened_ = false;
  WakeEvent event_;
};

}  // namespace strata::net
