// Searches that wait in a lane for the thread that searches. What has come by the time it is free
// is one batch, as far as it asks for the same. Those that look into copies of other servers'
// documents wait before that until these are as new as the search.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
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
  size_t answer_bytes = 0;             // at most; of a search without K only what is known
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
  // As many queries as are searched at once: what they take beside their answers is small.
  static constexpr size_t kQueriesAtOnce = 4096;

  // `bytes_max`: of searches that wait or are under way; one that waits is always taken.
  explicit SearchQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // kRefused: so many wait that there is no room.
  Status Add(WaitingSearch search);
  // Likewise of one that needs copies.
  Status AddForCopies(WaitingSearch search);
  // All that need copies, when none of them are out. Each is to be added back or let go, and then
  // EndCopies is due; until then it keeps its room.
  std::vector<WaitingSearch> BeginCopies();
  void AddBack(WaitingSearch search) { waiting_.push_back(std::move(search)); }
  void LetGo(const WaitingSearch& search) { bytes_ -= search.bytes; }
  void EndCopies() { copies_are_out_ = false; }
  // The next batch, when none is under way: the oldest search and those behind it with the same
  // collection and terms, as long as their answers together are half of `bytes_max` at most.
  std::vector<WaitingSearch> Begin();
  // What Begin returned last is answered, and its room is free.
  void End(uint64_t queries, TimeNs took);
  // All that wait, to be answered otherwise.
  std::vector<WaitingSearch> TakeAll();

  bool IsIdle() const {
    return waiting_.empty() && for_copies_.empty() && !is_running_ && !copies_are_out_;
  }
  size_t size() const { return waiting_.size() + for_copies_.size(); }
  // Of all that wait or are under way.
  size_t bytes() const { return bytes_; }

 private:
  Status TakeRoom(const WaitingSearch& search);

  const size_t bytes_max_;
  std::deque<WaitingSearch> waiting_;
  std::vector<WaitingSearch> for_copies_;
  size_t bytes_ = 0;          // of both, of those that are out for copies, and of the batch
  size_t running_bytes_ = 0;  // of the batch
  bool is_running_ = false;
  bool copies_are_out_ = false;
  double query_ns_ = 0;  // that a query of late ones took; 0: none yet
};

}  // namespace strata
