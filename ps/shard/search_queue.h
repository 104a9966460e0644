// Searches that wait in a lane for the thread that searches. What has come by the time it is free
// is one batch, as far as it asks for the same. Those that look into copies of other servers'
// documents wait before that until these are as new as the search.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "proto/wire/collection_payload.h"
#include "ps/shard/lane_collections.h"
#include "ps/shard/step_barrier.h"

namespace strata {

// A SEARCH that has been looked at, and its answer is to come.
struct WaitingSearch {
  ReplyTo to;
  TimeNs deadline = kNever;
  TimeNs arrived = 0;
  TimeNs waited = 0;     // until its batch began
  bool explain = false;  // say how the answer was found
  std::shared_ptr<Collection> collection = {};
  Frame terms = {};  // as they came: those with the same bytes are searched together
  wire::SearchQueries queries = {};
  size_t bytes = 0;
  uint32_t servers = 1;                // whose documents it is for: wire::SearchTerms
  CollectionCopies::Sets copies = {};  // of those of other servers, once they are new enough
};

// Not thread-safe.
class SearchQueue {
 public:
  // The latency budget: a batch takes as many searches as are expected to be done in it, but one at
  // least, and 32 queries, which a scan answers in the time of one.
  static constexpr TimeNs kBatchTime = 10 * kMillisecond;
  static constexpr size_t kBatchQueries = 32;

  // `bytes_max`: of searches that wait; one is always taken.
  explicit SearchQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // kRefused: so many wait that there is no room.
  Status Add(WaitingSearch search);
  // Likewise of one that needs copies.
  Status AddForCopies(WaitingSearch search);
  // All that need copies, when none of them are out: to be added again, or answered, and then
  // EndCopies.
  std::vector<WaitingSearch> BeginCopies();
  void EndCopies() { copies_are_out_ = false; }
  // The next batch, when none is under way: the oldest search and those behind it with the same
  // collection and terms.
  std::vector<WaitingSearch> Begin();
  // What Begin returned last is answered.
  void End(uint64_t queries, TimeNs took);
  // All that wait, to be answered otherwise.
  std::vector<WaitingSearch> TakeAll();

  bool IsIdle() const {
    return waiting_.empty() && for_copies_.empty() && !is_running_ && !copies_are_out_;
  }
  size_t size() const { return waiting_.size() + for_copies_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  Status TakeRoom(const WaitingSearch& search);

  const size_t bytes_max_;
  std::deque<WaitingSearch> waiting_;
  std::vector<WaitingSearch> for_copies_;
  size_t bytes_ = 0;  // of both
  bool is_running_ = false;
  bool copies_are_out_ = false;
  double query_ns_ = 0;  // that a query of late ones took; 0: none yet
};

}  // namespace strata
