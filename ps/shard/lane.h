// Lane: the core of a server, one thread's share of its shards. Messages and a clock's ticks go in,
// messages come out; it knows no socket, no thread and no clock, so that a test can run fifty
// servers in one thread and replay them from a seed.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "ps/shard/lane_state.h"

namespace strata {

struct LaneReport {
  struct Table {
    TableSpec spec;
    TableStats stats;
  };
  std::vector<Table> tables;  // sorted by name
  size_t parked_requests = 0;
  size_t parked_bytes = 0;
  size_t clients = 0;
  bool draining = false;
};

// Not thread-safe. Whatever bytes come in, the answer is a reply (an error's text says what is
// wrong), never more; only what claims to be a reply itself is dropped, and counted.
class Lane {
 public:
  // `metrics` outlives the lane. The lane must be in the config's shard map.
  Lane(LaneConfig config, LaneMetrics& metrics);

  // Handles one message. Replies are appended to `out`, for this request and for others that waited
  // for it. `now` never runs backwards. Returns the command of a request that was let in, for
  // statistics.
  std::optional<wire::Command> Handle(Envelope in, TimeNs now, std::vector<Envelope>* out);

  // To be called at NextTick() or later: requests whose deadline has passed are answered.
  void Tick(TimeNs now, std::vector<Envelope>* out);
  TimeNs NextTick() const;

  // From now on new writes are refused; a synchronous step that has begun may still be completed.
  // What waits for one that has not is refused at once.
  void Drain(std::vector<Envelope>* out);
  bool draining() const { return state_.draining; }
  bool Idle() const;  // nothing waits
  // The server ends: answers all that waits with kLost; nothing of it has been applied.
  void EndAll(std::vector<Envelope>* out);

  LaneReport Report() const;

 private:
  std::optional<wire::Command> Open(Envelope in, TimeNs now);
  Status Admit(const Request& request) const;
  void Housekeep(TimeNs now);

  LaneState state_;
  TimeNs next_housekeeping_ = 0;
};

}  // namespace strata
