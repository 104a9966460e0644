// Whereabouts: which exchange the calling thread is in and which collectives it was in before, for
// another thread to read. Two ranks that call different collectives may wait for each other, or
// for others that wait for them, and no message between them shows it; so a rank that has been in
// one exchange for long tells its peers, which know what they called themselves.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cluster/link/exchange/exchange.h"

namespace strata {

class Whereabouts {
 public:
  struct Stay {
    ExchangeTag tag;
    int to = -1;  // the ranks that it waits for
    int from = -1;
  };

  // The thread that exchanges. No lock, no waiting.
  void Enter(const Stay& stay);
  void Leave() { turn_.store(++my_turn_, std::memory_order_release); }

  // One other thread.

  // The exchange that is under way.
  std::optional<Stay> Now() const;
  // The one that was the last time this was asked, if it still is.
  std::optional<Stay> LongStay();
  // As what this rank did a call of a group (ExchangeTag::OperationWord), among the last
  // kCallsKept; nothing when it has not come to it.
  std::optional<uint64_t> OperationOf(uint32_t group, uint64_t call) const;

  static constexpr size_t kCallsKept = 64;

 private:
  struct Call {
    std::atomic<uint64_t> operation = 0;  // 0: being written, or none
    std::atomic<uint64_t> number = 0;
  };
  void Remember(uint64_t operation, uint64_t number);

  // Odd: in an exchange. What it says was written before it, and does not change until the next.
  std::atomic<uint64_t> turn_ = 0;
  std::atomic<uint64_t> operation_ = 0;
  std::atomic<uint64_t> sequence_ = 0;
  std::atomic<int> to_ = -1;
  std::atomic<int> from_ = -1;
  std::array<Call, kCallsKept> calls_;

  uint64_t my_turn_ = 0;  // of the thread that exchanges
  uint64_t last_operation_ = 0;
  uint64_t last_call_ = 0;
  size_t next_call_ = 0;
  uint64_t turn_seen_ = 0;  // of the other one
};

}  // namespace strata
