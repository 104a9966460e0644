// Hints of a client to its lanes (PREFETCH): sent once, never repeated, and dropped where they are
// of no use or where the lane does not keep up. Internal to ps/client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/clock.h"
#include "proto/wire/header.h"

namespace strata::client {

// Not thread-safe.
class Hints {
 public:
  static constexpr size_t kUnansweredMax = 4;          // of a lane; more are dropped
  static constexpr TimeNs kLostAfter = kSecond;        // then they are not waited for any more
  static constexpr uint32_t kTimeoutMs = 1000;         // a server drops one that it comes to later
  static constexpr size_t kKeysMax = size_t{1} << 20;  // of a message; the rest is dropped

  void SetLanes(size_t lanes) { lanes_.resize(lanes); }

  // Whether any lane may have use for hints about the table.
  bool OfUse(uint32_t table) const;
  // Whether a hint about the table may go to the lane now.
  bool MaySend(uint16_t lane, uint32_t table, TimeNs now);
  void NoteSent(uint16_t lane, uint64_t request_id, TimeNs now);
  // A reply to a hint; anything else is left alone. With kFlagDone the lane holds the table in
  // memory and is sent no more of them.
  void NoteReply(const wire::Header& reply);
  // Another process serves the lane.
  void Forget(uint16_t lane) { lanes_[lane] = {}; }

 private:
  struct Lane {
    std::set<uint32_t> of_no_use;   // tables
    std::set<uint64_t> unanswered;  // request ids
    TimeNs sent = 0;                // the last one
  };
  std::vector<Lane> lanes_;
};

}  // namespace strata::client
