// Messages that have come to a lane and wait for their turn. Clients take turns by what their
// requests cost, so that none of them waits for all that another one sent; what is short and urgent
// goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "ps/shard/credits.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe. Messages of one peer keep their order, but for urgent ones: PING, HELLO,
// SHARD_MAP and CONTROL.
class ArrivedQueue {
 public:
  // What the requests of one peer that wait here may cost. No client is granted more than
  // Credits::kCreditMax, and it sends what is unanswered again after 1, 3 and 7 s. Pushes of
  // synchronous steps are no part of it, as credits do not hold them back.
  static constexpr size_t kPeerCostMax = 4 * Credits::kCreditMax;
  // What a message costs at least: its own memory and the work of looking at it.
  static constexpr size_t kLeastCost = 1024;

  struct Arrived {
    Envelope envelope;
    TimeNs time = 0;
  };

  // `bytes_max`: what may wait. A peer that has less than an equal share of it may still add, and
  // one that has nothing may add a message, so up to twice as much waits in the worst case.
  explicit ArrivedQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes the envelope, or leaves it as it is and says why. kRefused: the peer sends far more than
  // it was granted. kUnavailable: too much waits, so the client is to send it again later.
  Status Add(Envelope* envelope, TimeNs now);
  // The message whose turn it is; there must be one.
  Arrived Next();
  // The next PING, HELLO or SHARD_MAP that is first among its peer's urgent messages and knows of
  // no cut above `cut`, the lane's own. A lane can answer these in the middle of another request.
  std::optional<Arrived> NextForBusyLane(uint32_t cut);
  // The peer's connection is gone: drops what it sent. How many messages these were.
  size_t Drop(const std::string& peer);

  bool empty() const { return messages_ == 0; }
  size_t bytes() const { return bytes_; }

 private:
  struct Waiting {
    Arrived arrived;
    size_t bytes = 0;
    size_t cost = 0;
    bool is_credited = false;       // counts against kPeerCostMax
    bool is_for_busy_lane = false;  // NextForBusyLane
    uint32_t cut = 0;               // that its sender knows of
  };
  struct Peer {
    std::deque<Waiting> urgent;
    std::deque<Waiting> others;
    size_t bytes = 0;
    size_t cost = 0;      // of credited messages that wait
    uint64_t served = 0;  // when its next message is due, counted in cost
    bool in_turns = false;
    bool in_urgent_turns = false;
    bool IsIdle() const {
      return urgent.empty() && others.empty() && !in_turns && !in_urgent_turns;
    }
  };
  struct Turn {
    uint64_t due = 0;
    uint64_t number = 0;  // of two that are due together, the first one goes first
    Peer* peer = nullptr;
    bool operator>(const Turn& other) const {
      return std::pair(due, number) > std::pair(other.due, other.number);
    }
  };

  Status CheckRoom(const Peer& peer, const Waiting& message) const;
  void ForgetIdlePeers();
  void BeginTurn(Peer* peer);
  Peer* NextUrgent();
  Peer* NextOther();
  Arrived Take(Peer* peer, std::deque<Waiting>* from);
  Arrived TakeUrgent(Peer* peer);

  static constexpr size_t kSweepLeast = 4096;

  const size_t bytes_max_;
  size_t sweep_at_ = kSweepLeast;                // peers
  std::unordered_map<std::string, Peer> peers_;  // idle ones too, until they are many
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::deque<Peer*> urgent_turns_;
  uint64_t now_served_ = 0;  // Peer::served of the last turn
  uint64_t next_number_ = 0;
  size_t urgent_run_ = 0;  // urgent messages since the last other one
  size_t messages_ = 0;
  size_t bytes_ = 0;
};

}  // namespace strata
