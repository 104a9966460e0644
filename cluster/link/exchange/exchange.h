// Exchanger: the one primitive that collectives are written over. Links implements it between
// processes, MemoryWorld between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"
#include "cluster/link/exchange/reduction.h"
#include "cluster/schedule/algorithms.h"
#include "strata/status.h"

namespace strata {

// Which exchange of which collective this is. Both ends of an exchange must agree on all of it.
struct ExchangeTag {
  Collective operation = Collective::kBarrier;
  Algorithm algorithm = Algorithm::kDissemination;
  uint16_t detail = 0;  // element type and reduction, as Reduction numbers them
  uint16_t root = 0;    // of the operations that have one
  uint32_t group = 0;   // 0: all ranks; groups within them have a number of their own, below 2^22
  uint64_t call = 0;    // counts the collectives of the group, below 2^40
  uint32_t step = 0;    // exchange within the collective, below 2^24

  static constexpr uint32_t kGroupMask = (1U << 22) - 1;

  // The two words of a frame's header.
  uint64_t OperationWord() const;
  uint64_t SequenceWord() const;
  static ExchangeTag FromWords(uint64_t operation, uint64_t sequence);
  std::string Describe() const;  // "allreduce (circulant, float sum) call 7 step 2"
};

// What goes to a peer and where that of a peer shall land: pieces that follow one another on the
// wire. Both ends cut the same bytes, not necessarily into the same pieces.
struct SendPart {
  int peer = -1;  // -1: nothing is sent
  std::span<const std::span<const std::byte>> pieces = {};
};
struct ReceivePart {
  int peer = -1;  // -1: nothing is received
  std::span<const std::span<std::byte>> pieces = {};
  // When set, what arrives is combined into the pieces instead of replacing them. Pieces then hold
  // whole elements, and none of the bytes that are sent.
  const Reduction* reduction = nullptr;
};

// One thread at a time, but for Cancel.
class Exchanger {
 public:
  virtual ~Exchanger() = default;
  virtual int rank() const = 0;
  virtual int world() const = 0;
  // Sends and receives at once and returns when both are done; the sent bytes may then be reused.
  // The peer's exchange must carry the same tag and size. An error (kDeadlineExceeded when it is
  // not done at `deadline`) is final: it ends the group.
  virtual Status Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                          TimeNs deadline) = 0;
  // Ends the group with this error here, and with one that names this rank elsewhere. An exchange
  // under way returns it. Any thread; the first error stays.
  virtual void Cancel(const Status& why) = 0;
};

}  // namespace strata
