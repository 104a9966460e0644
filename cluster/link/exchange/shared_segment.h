// SharedSegment: memory that two ranks of one host share: a ring in each direction, and a bell for
// each side.
//
// One rank creates it and sends the other an offer (over their authenticated control connection);
// the other attaches and answers; then the creator closes the door. The other opens the memory
// (base/sealed_memory.h) as /proc/PID/fd/N. So it takes nothing of the little /dev/shm of a
// container, and needs no socket besides; whom the kernel does not let look into the creator's
// process (another user, another container or host) cannot open it, and such a pair goes on over
// its sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sealed_memory.h"
#include "cluster/link/connect/listener.h"
#include "cluster/link/exchange/shared_ring.h"
#include "strata/status.h"

namespace strata {

constexpr size_t kSharedRingBytes = 256ULL << 10;

// Whose segment it is.
struct SharedPair {
  uint64_t job = 0;
  int creator = 0;  // ranks
  int attacher = 0;
};

class SharedSegment {
 public:
  // kRefused: this system gives no such memory; the text says why.
  static Result<std::unique_ptr<SharedSegment>> Create(const SharedPair& pair);
  // Opens what the creator offers. kRefused: the two processes cannot share memory (other host,
  // container or user, or a creator that is gone). kCorrupt: it is no offer, or what it leads to is
  // not a segment of this version for this pair. kExists: somebody has attached before.
  static Result<std::unique_ptr<SharedSegment>> Attach(const SharedPair& pair,
                                                       std::string_view offer);
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  // What the other rank needs to attach: one line of text. Creator only, until CloseDoor.
  std::string Offer() const;
  // Nobody can attach from now on.
  void CloseDoor() { memory_.CloseDescriptor(); }

  // Of the thread that exchanges. Any other may ring its bell, to wake that one.
  SharedSide& side() { return *side_; }

  // Tells the other rank that nothing comes any more and nothing is read, and wakes it. Any thread.
  void Leave();

 private:
  struct Shared;
  SharedSegment(SealedMemory memory, bool is_creator);
  Shared& shared() const;

  SealedMemory memory_;  // has a descriptor as long as the door is open
  const size_t number_;  // of this side: 0 the creator's, 1 the attacher's
  std::optional<SharedSide> side_;
};

}  // namespace strata
