// Follower: keeps a lane's copies of other servers' documents. It asks their homes for changes, now
// and then, and whenever a search is to look into a copy: by the answer to a question that was
// asked after the search came, the copy has all that was acknowledged before it (the read index of
// the Raft dissertation, section 6.4, where the home is the leader and stays it: nothing is decided
// by a clock). Placement: lane j of a server keeps, of the servers before it in the machine list,
// the documents of the lanes that are j modulo its own number of lanes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "proto/wire/shard_map.h"
#include "ps/follow/item_copy.h"
#include "ps/follow/peers.h"
#include "ps/shard/collection_copies.h"
#include "strata/status.h"

namespace strata {

struct FollowerOptions {
  wire::LaneName lane;
  std::shared_ptr<const wire::ShardMap> map;
  std::function<SearchMeans()> means;  // who searches a copy
  const Clock* clock = &RealClock();
};

class Follower final : public CollectionCopies {
 public:
  // `peers` outlives it.
  static Result<std::shared_ptr<Follower>> Start(const FollowerOptions& options, Peers& peers);
  ~Follower() override;
  // Ends the thread. What is under way is waited for: stop the peers first.
  void Stop();

  void Keep(const wire::CollectionDefinition& definition) override;
  void Drop(uint32_t collection) override;
  void Run(std::function<void()> work) override;
  Result<Sets> CatchUp(uint32_t collection, size_t servers) override;
  void AddStats(uint32_t collection, wire::CollectionStatsReply* stats) const override;

  // The lanes of the map whose documents it keeps, with so many copies: of the server before its
  // own, of that before it, ...
  static std::vector<std::vector<uint16_t>> HomesOf(const wire::ShardMap& map,
                                                    const wire::LaneName& lane, uint8_t copies);

 private:
  // What others see of a copy. Guarded by mutex_.
  struct Shown {
    std::shared_ptr<const ItemSet> set;
    bool is_whole = false;
    uint64_t lacking = 0;
    uint64_t begun = 0;
    TimeNs newest_at = 0;  // when it had all that its home had, or its following began
  };
  struct Home {
    uint16_t lane = 0;    // in the map
    size_t before = 0;    // servers before this one
    ItemCopy copy;        // of the thread
    bool failed = false;  // likewise: its last answer was no use
    Shown shown = {};
  };
  struct Followed {
    uint64_t collection = 0;
    std::vector<Home> homes;
  };

  Follower(const FollowerOptions& options, Peers& peers) : options_(options), peers_(peers) {}
  void Loop();
  // One question to each home. How long the next ones can wait.
  TimeNs Poll();
  Status Ask(Followed& followed, const std::vector<Home*>& homes);
  std::shared_ptr<Followed> Find(uint32_t collection) const;

  const FollowerOptions options_;
  Peers& peers_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<uint32_t, std::shared_ptr<Followed>> followed_ STRATA_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> work_ STRATA_GUARDED_BY(mutex_);
  bool is_stopping_ STRATA_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace strata
