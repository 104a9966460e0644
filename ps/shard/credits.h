// Credits: how much each client may have under way to a lane, so that what all of them send never
// exceeds what the lane may hold (docs/protocol.md, Flow control).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "ps/shard/dedup_window.h"

namespace strata {

// Not thread-safe. Hear and Grant cost a look into a map, whatever clients there are.
class Credits {
 public:
  // Above the longest pause between two attempts of a client that waits: it keeps its share.
  static constexpr TimeNs kForgetAfter = 10 * kSecond;
  // More keeps no connection busier.
  static constexpr size_t kCreditMax = size_t{32} << 20;
  // More share one grant: wire::kCreditMin, unless a lane may hold gigabytes.
  static constexpr size_t kClientsMax = 16'384;

  // `bytes_max`: what all clients together are granted, but for the least that each may have.
  explicit Credits(size_t bytes_max) : bytes_max_(bytes_max) {}

  // The client is there. `now` never runs backwards. Who is not heard of is forgotten once
  // kForgetAfter to twice as much has passed.
  void Hear(const ClientId& client, TimeNs now);
  // Bytes that the client may have under way from now on: an equal share, but no more than
  // kCreditMax and than twice what it was granted before, and at least wire::kCreditMin. Those who
  // fell silent before a newcomer took its share still hold theirs: if they all speak up at once,
  // the lane refuses what it cannot hold, and tells them of their share with the same reply.
  uint32_t Grant(const ClientId& client);

  // What it was granted last; 0: nothing lately.
  uint32_t GrantedTo(const ClientId& client) const;

  size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    TimeNs heard = 0;
    size_t granted = 0;
  };
  void Sweep(TimeNs now);

  const size_t bytes_max_;
  std::map<ClientId, Client> clients_;
  TimeNs next_sweep_ = 0;
};

}  // namespace strata
