// Exchanger: the one primitive that collectives are written over. Links implements it over TCP,
// MemoryWorld over the memory of one process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace strata {

// Which collective an exchange belongs to. Both ends of an exchange must agree on all of it.
enum class CollectiveKind : uint8_t { kAllreduce = 1, kAllgather = 2 };

struct ExchangeTag {
  CollectiveKind kind = CollectiveKind::kAllreduce;
  uint8_t detail = 0;  // element type and reduction, as the collective numbers them
  uint64_t call = 0;   // counts the collectives of the group, below 2^48
  uint64_t step = 0;   // exchange within the collective

  uint64_t Operation() const;    // kind, detail and call in one word
  std::string Describe() const;  // "allreduce call 7 step 2"
  static ExchangeTag FromWords(uint64_t operation, uint64_t step);
};

// What goes to a peer and where that of a peer shall land: up to two pieces that follow one another
// on the wire, since a cyclic range of blocks is at most two contiguous ones.
struct SendPart {
  int peer = -1;  // -1: nothing is sent
  std::array<std::span<const std::byte>, 2> pieces;
};
struct ReceivePart {
  int peer = -1;  // -1: nothing is received
  std::array<std::span<std::byte>, 2> pieces;
};

// One thread at a time.
class Exchanger {
 public:
  virtual ~Exchanger() = default;
  virtual int rank() const = 0;
  virtual int world() const = 0;
  // Sends and receives at once and returns when both are done; the sent bytes may then be reused.
  // The peer's exchange must carry the same tag and size. An error is final: it ends the group.
  virtual Status Exchange(const ExchangeTag& tag, const SendPart& send,
                          const ReceivePart& receive) = 0;
};

}  // namespace strata
