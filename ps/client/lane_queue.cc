#include "ps/client/lane_queue.h"

#include <algorithm>

namespace strata::client {
namespace {

// How many open requests one look considers: enough for many tables, and bounded.
constexpr size_t kLookAhead = 256;
// Fewer than the server's window of remembered sequences (docs/protocol.md).
constexpr size_t kWritesInFlightMax = 512;

}  // namespace

bool MayOverlap(const Request& earlier, const Request& later) {
  if (earlier.direct || later.direct) return true;
  if (earlier.header.table != later.header.table) return true;
  if (!earlier.writes && !later.writes) return true;
  if (earlier.call == later.call) return true;
  if (!earlier.sync() || !later.sync() || earlier.header.group != later.header.group) return false;
  if (earlier.writes == later.writes) return false;
  const Request& push = earlier.writes ? earlier : later;
  const Request& pull = earlier.writes ? later : earlier;
  return pull.header.step > push.header.step;
}

void LaneQueue::Add(std::shared_ptr<Request> request) {
  if (request->direct) {
    open_.push_front(std::move(request));
  } else {
    open_.push_back(std::move(request));
  }
}

bool LaneQueue::MayStart(const Request& request) const {
  if (request.writes && !request.sync() && !request.direct) {
    for (const auto& [sequence, table] : given_up_) {
      if (table == request.header.table && sequence >= settled_below()) return false;
    }
  }
  for (const auto& earlier : open_) {
    if (earlier.get() == &request) return true;
    if (!MayOverlap(*earlier, request)) return false;
  }
  return true;
}

std::vector<std::shared_ptr<Request>> LaneQueue::Start() {
  std::vector<std::shared_ptr<Request>> started;
  bool full = false;
  size_t looked_at = 0;
  for (const auto& request : open_) {
    if (++looked_at > kLookAhead) break;
    if (request->in_flight) continue;
    const bool unbounded = request->direct || (request->sync() && request->writes);
    if (!unbounded) {
      full = full || (in_flight_ > 0 && bytes_in_flight_ + request->bytes > window()) ||
             unsettled_.size() >= kWritesInFlightMax;
      if (full) continue;
    }
    if (!MayStart(*request)) continue;
    request->in_flight = true;
    if (request->writes) {
      request->header.sequence = next_sequence_++;
      unsettled_.insert(request->header.sequence);
    }
    ++in_flight_;
    bytes_in_flight_ += request->bytes;
    started.push_back(request);
  }
  return started;
}

void LaneQueue::Remove(const Request& request, bool answered) {
  const auto at = std::find_if(open_.begin(), open_.end(),
                               [&](const auto& open) { return open.get() == &request; });
  if (at == open_.end()) return;
  if (request.in_flight) {
    --in_flight_;
    bytes_in_flight_ -= request.bytes;
    if (request.writes) {  // others may have numbers of another kind there
      unsettled_.erase(request.header.sequence);
      if (!answered) given_up_.emplace(request.header.sequence, request.header.table);
    }
    given_up_.erase(given_up_.begin(), given_up_.lower_bound(settled_below()));
  }
  open_.erase(at);
}

}  // namespace strata::client
