// DataProgress: whether what a peer sends over its data connection arrives. That connection may
// break without a word while the control connection lives on; so heartbeats say how much the peer
// has sent, and whoever waits for it compares.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace strata {

class DataProgress {
 public:
  // The thread that exchanges.
  void AddSent(size_t bytes) { Add(bytes, &sent_); }
  void AddReceived(size_t bytes) { Add(bytes, &received_); }

  // One other thread.

  uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  // At `now` the peer has said that it had sent so many bytes; `awaited`: data of it are waited
  // for.
  void TakeAnnounced(uint64_t bytes, bool awaited, TimeNs now);
  // For how long nothing has come of what the peer has sent and this rank waits for; 0 when all is
  // well.
  TimeNs Stalled(bool awaited, TimeNs now) const;
  // This process itself was stopped for so long.
  void Excuse(TimeNs stopped);

 private:
  // Of the one thread that adds.
  static void Add(size_t bytes, std::atomic<uint64_t>* count) {
    count->store(count->load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> sent_ = 0;
  std::atomic<uint64_t> received_ = 0;
  // Of the other thread.
  uint64_t received_then_ = 0;
  TimeNs since_ = 0;  // 0: nothing is missed
};

}  // namespace strata
