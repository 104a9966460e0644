// A lane's share of the collections of item sets: the documents whose shards it holds.
//
// Changes are in a log of the collection's own (LoggedItemSet). The lane's log has a note of each
// before it, which says whose write is which record, so that a repeat is known after a restart.
// docs/decisions/0013 says why, and in which order they are written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "proto/format/item_change.h"
#include "proto/wire/collection_payload.h"
#include "proto/wire/header.h"
#include "ps/shard/change_feed.h"
#include "ps/shard/collection_copies.h"
#include "ps/shard/dedup_window.h"
#include "storage/itemset/logged_item_set.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

struct CollectionsConfig {
  // Who searches a new collection. Any thread; the first call may take some tenths of a second.
  std::function<SearchMeans()> means;
  // Of each collection's log, in a folder of its own below `folder`. Nothing: in memory only.
  std::optional<LogOptions> logs;
  // Runs searches off the lane's thread, one after the other. Null: at once.
  std::function<void(std::function<void()>)> searcher;
  const Clock* clock = &RealClock();  // of searches
  // Keeps copies of other servers' documents for the lane. Null: nobody does.
  std::shared_ptr<CollectionCopies> copies;
  // Runs CollectionCopies::CatchUp, as `searcher` runs searches.
  std::function<void(std::function<void()>)> follower;
};

// Not thread-safe but for `set`, which any thread may search.
class Collection {
 public:
  // A new one, which nobody knows of before Publish. `instance` tells it from others of its name.
  static Result<std::shared_ptr<Collection>> Make(const CollectionsConfig& config,
                                                  const wire::CollectionDefinition& definition,
                                                  uint64_t instance);
  // What the folders of config.logs hold; of collections that were dropped, or not published yet,
  // they are removed. Errors name the folder; kCorrupt, too: one has a log or images and does not
  // say of what. Any thread.
  static Result<std::vector<std::shared_ptr<Collection>>> OpenAll(const CollectionsConfig& config);

  // From here on it is there after a restart.
  Status Publish();
  // From here on it is not. What is left of it goes with who uses it last, if it can.
  Status Remove();

  const wire::CollectionDefinition& definition() const { return definition_; }
  uint64_t instance() const { return instance_; }
  const ItemSet& set() const { return logged_ != nullptr ? logged_->set() : *plain_; }
  // Null in memory only.
  const std::shared_ptr<LoggedItemSet>& logged() const { return logged_; }
  // Records that its log held when it was opened.
  Lsn opened_at() const { return opened_at_; }
  // Of the next Apply; 0 in memory only.
  Lsn NextLsn() const { return logged_ != nullptr ? logged_->log().appended() + 1 : 0; }
  // Whether its log takes changes of so many bytes without writing those before them.
  bool Fits(size_t bytes) const { return logged_ == nullptr || logged_->log().Fits(bytes); }
  // kInvalid for a document that does not fit.
  Status Check(std::span<const format::ItemChange> changes) const;
  // What was checked, and is `body` as a record. kDiskFull: nothing has changed; any other error is
  // final.
  Status Apply(std::span<const format::ItemChange> changes, const Frame& body);
  // The changes since it was opened. Null: nobody keeps copies.
  const ChangeFeed* feed() const { return feed_ ? &*feed_ : nullptr; }

  wire::CollectionStatsReply Stats() const;
  // `with_copies`: of other lanes' documents, too.
  void CountSearch(uint64_t queries, uint64_t ns, bool with_copies);

 private:
  void BeginFeed();

  wire::CollectionDefinition definition_;
  uint64_t instance_ = 0;
  std::optional<LogOptions> log_;  // with its own folder
  std::shared_ptr<LoggedItemSet> logged_;
  std::unique_ptr<ItemSet> plain_;
  Lsn opened_at_ = 0;
  std::optional<ChangeFeed> feed_;
  wire::CollectionStatsReply counts_;  // of changes and searches
};

// The logs of a lane's collections. Sync: any thread.
class CollectionLogs {
 public:
  void Add(const std::shared_ptr<LoggedItemSet>& set);
  void Remove(const std::shared_ptr<LoggedItemSet>& set);
  // Those that have something to write.
  Status Write();
  Status Sync();

 private:
  Mutex mutex_;
  // Changed by the lane's thread alone, with mutex_ held; that thread reads it without.
  std::vector<std::shared_ptr<LoggedItemSet>> sets_;
};

// The lane's log and those of its collections, as one log: its records are the lane's, and one
// counts as synced when what it is a note of is, too.
std::unique_ptr<WriteAheadLog> JoinLogs(std::unique_ptr<WriteAheadLog> lane,
                                        std::shared_ptr<CollectionLogs> collections);

// The note of a write to a collection in the lane's log:
//   header 160 bytes, instance u64, LSN u64 of the record in the collection's log
struct ItemsNote {
  wire::Header header;
  uint64_t instance = 0;
  Lsn lsn = 0;
};
std::vector<std::byte> EncodeItemsNote(const ItemsNote& note);
Result<ItemsNote> DecodeItemsNote(std::span<const std::byte> body);

// Not thread-safe.
struct LaneCollections {
  std::map<uint32_t, std::shared_ptr<Collection>> of_id;  // as messages name them
  std::shared_ptr<CollectionLogs> logs = std::make_shared<CollectionLogs>();
  uint64_t last_instance = 0;                     // of a lane without a log
  std::shared_ptr<CollectionCopies> copies = {};  // CollectionsConfig::copies

  // Notes that were replayed and whose records are there, by instance: those that a later note
  // with the same or a smaller LSN shows to have been lost after all are forgotten.
  struct Noted {
    Lsn lsn = 0;
    ClientId client;
    uint64_t sequence = 0;
  };
  std::map<uint64_t, std::vector<Noted>> noted;  // while the log is replayed

  void Put(const std::shared_ptr<Collection>& collection);
  void Erase(uint32_t id);
  const Collection* OfInstance(uint64_t instance) const;
  // With those of the copies that the lane keeps.
  wire::CollectionStatsReply StatsOf(const Collection& collection) const;
};

}  // namespace strata
