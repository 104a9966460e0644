// The requests of one lane: which may be under way, and their write sequences. Internal to
// ps/client.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "ps/client/request.h"

namespace strata::client {

// Not thread-safe.
class LaneQueue {
 public:
  // At most `bytes_max` are under way at a time, and no more than the lane grants, but always at
  // least one request. Synchronous pushes and direct requests are not held back: a pull that fills
  // the budget may be waiting for them.
  explicit LaneQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // What the lane's last reply said; 0: it grants without limit. True: more may start than before.
  bool Grant(uint32_t credit) {
    const size_t before = window();
    credit_ = credit == 0 ? bytes_max_ : credit;
    return window() > before;
  }
  size_t window() const { return std::min(bytes_max_, credit_); }

  // Direct requests overtake what is there.
  void Add(std::shared_ptr<Request> request);

  // Marks what may start now as in flight, gives writes their sequence, and returns it in order.
  std::vector<std::shared_ptr<Request>> Start();

  // Its sequence will never be sent again. Without an answer that the lane remembers, a copy of it
  // that is still under way may be applied as long as it is not settled: writes to its table wait
  // until it is, so that it cannot undo one of them.
  void Remove(const Request& request, bool answered);

  // In the order of submission.
  const std::list<std::shared_ptr<Request>>& open() const { return open_; }
  // It has sent writes, and none is without its outcome.
  bool MayLeave() const { return next_sequence_ > 1 && unsettled_.empty(); }
  uint64_t settled_below() const {
    return unsettled_.empty() ? next_sequence_ : *unsettled_.begin();
  }

 private:
  bool MayStart(const Request& request) const;

  const size_t bytes_max_;
  size_t credit_ = wire::kCreditMin;
  std::list<std::shared_ptr<Request>> open_;
  std::set<uint64_t> unsettled_;
  std::map<uint64_t, uint32_t> given_up_;  // sequence and table; not settled yet
  uint64_t next_sequence_ = 1;
  size_t in_flight_ = 0;
  size_t bytes_in_flight_ = 0;
};

}  // namespace strata::client
