// What the client core keeps of a submitted operation: a Call, and a Request for every message's
// worth of it. Internal to ps/client.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "proto/wire/commands.h"
#include "proto/wire/header.h"
#include "storage/table.h"

namespace strata::client {

// One submitted operation. It is finished when no request of it is left.
struct Call {
  uint64_t id = 0;  // in the order of submission
  Operation operation;
  TimeNs begin = 0;  // when it was submitted
  TimeNs deadline = kNever;
  bool has_own_deadline = false;  // the caller's; else the client's patience
  size_t requests_left = 0;
  std::map<uint32_t, Status> lanes;       // the first error of each lane that took part, or OK
  std::vector<uint16_t> servers_applied;  // that acknowledged a write of it
  std::optional<uint64_t> erased;         // of an erase: rows that went, while all answers say so
  std::vector<TableSpec> tables;          // LIST_TABLES: what has been listed
  bool listed = false;                    // tables were listed after it was submitted
  std::vector<wire::Received> replies;    // of CallLanes, by lane; of Exchange, by part
  std::function<void(Call&, Status)> finish;
};

// The part of a call that travels in one message, and its way there. Retries send it again under
// the same sequence and a new request id.
struct Request {
  std::shared_ptr<Call> call;
  size_t part = 0;      // index in call->operation.parts
  uint16_t lane = 0;    // index in the shard map
  wire::Header header;  // all but what belongs to an attempt
  bool writes = false;
  std::vector<uint32_t> positions;  // of its keys among the part's keys
  std::vector<uint32_t> then;       // PUSH_PULL: of the keys to look up among the part's `then`
  std::optional<wire::TableDefinition> definition;  // CREATE_TABLE
  size_t bytes = 0;     // of the request and of the reply that it asks for
  bool direct = false;  // of CallLanes: waits for no other
  // Of CallLanes and Exchange: its payload is there from the start, and its reply is kept as it is,
  // here among the call's.
  std::optional<size_t> reply_at = {};
  // To the lane that takes checkpoints one after the other: asked again at an even pace, answered
  // or not, until all lanes have answered, so that it knows that somebody still wants this one.
  bool steady = false;

  // Once it is under way:
  bool in_flight = false;
  Message payload;
  TimeNs next_attempt = kNever;
  TimeNs attempt_timeout = 0;
  std::vector<uint64_t> request_ids;  // of all attempts: a late reply to an early one is as good
  size_t refusals = 0;                // attempts that were answered: not now
  TimeNs refused_since = kNever;      // the first of them
  TimeNs retry_delay = 0;             // after the last of them
  Status last_error;                  // why an earlier attempt did not do
  bool answered = false;              // steady: its reply is kept

  bool sync() const { return header.is(wire::kFlagSync); }
  // Whether it may have been applied although nobody said so.
  bool unknown() const { return writes && refusals < request_ids.size(); }
};

// Whether `later` may be under way while `earlier`, submitted before it to the same table and lane,
// is not finished. This is what keeps one client's operations on a key in the order of submission,
// whatever the network does:
//   - reads pass reads;
//   - messages of one operation pass each other (they hold different keys);
//   - of a synchronous push of step s and a pull of a step after s, either passes the other: the
//     server's step rule orders them, and each may be waiting for the other to arrive;
//   - direct requests pass all and are passed by all;
//   - everything else waits.
bool MayOverlap(const Request& earlier, const Request& later);

}  // namespace strata::client
