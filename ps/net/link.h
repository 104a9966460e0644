// Link: a connection to one peer that goes past the sockets: through memory of the host
// (shared_link.h) or of the process (inproc.h). Internal to ps/net.
#pragma once

#include <optional>

#include "base/message_port.h"
#include "strata/status.h"

namespace strata::net {

// One end, owned by one thread. What a LinkSet drives.
class Link {
 public:
  virtual ~Link() = default;

  // Queues a message; never blocks. kRefused when more bytes would wait than the budget allows (one
  // message is always taken), kLost when the link has ended.
  virtual Status Send(Message message) = 0;
  // The next message that has come as a whole, without its peer's name. One that came before the
  // link ended is still there.
  virtual std::optional<Envelope> TryReceive() = 0;
  // Gives the peer what waits, as far as there is room. False while something still waits.
  virtual bool Flush() = 0;
  // Says to the peer that this side is about to sleep, and is to be woken when something comes or
  // there is room for what waits. False: there is something to do at once.
  virtual bool BeginSleep() = 0;
  virtual void EndSleep() = 0;

  // Why nothing comes any more; OK while the link lives. kLost: the peer has let go of it;
  // kCorrupt: it wrote what no peer writes.
  virtual Status ended() const = 0;
  // For poll: readable when HandleEvent is to be called. -1: none.
  virtual int descriptor() const { return -1; }
  virtual void HandleEvent() {}
};

}  // namespace strata::net
