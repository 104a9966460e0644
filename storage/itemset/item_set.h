// ItemSet: a collection of item sets that is searched while it changes.
//
//   tail       the last documents, up to 256, as they came
//   segments   immutable; deleted documents are bits beside them
//
// A full tail becomes a segment of level 0. Sixteen segments of a level become one of the next, up
// to 65,536 documents at level 2. A segment more than an eighth of whose documents are gone, below
// level 2 more than half, is merged with others of its level: when there is nothing left to merge
// no more documents of segments are gone than are there. Merges run on a thread of their own:
// searches and changes go on.
//
// A search sees the collection as it was at one moment after the call began: every change that had
// returned by then, and of each other one all or nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/thread/mutex.h"
#include "storage/itemset/gpu_copy.h"
#include "storage/itemset/item_filter.h"
#include "storage/itemset/locations.h"
#include "storage/itemset/planned_search.h"
#include "storage/itemset/segment.h"
#include "strata/document.h"
#include "strata/status.h"

namespace strata {

struct ItemSetOptions {
  ItemSetSpec spec;
  SearchMeans means;  // segments of level 1 and more are brought to means.items
  // Smaller ones are for tests. tail * 16 * 16 is at most Segment::kMostDocuments.
  size_t tail = 256;
};

struct ItemSetStats {
  size_t documents = 0;
  size_t segments = 0;
  size_t dead = 0;  // documents of segments that were replaced or deleted, and are still there
  size_t bytes =
      0;  // of everything that grows with documents, but for searches and merges on their way
  uint64_t merges = 0;
  GpuCopyStats on_gpu;
  // Queries that an engine worked on: one may be several's, each for some of the segments.
  std::array<uint64_t, kSearchEngines> queries_by{};
  uint64_t streamed = 0;  // queries for which documents passed through the GPU
};

// A segment of a collection, as its image and the manifest keep it.
struct SegmentState {
  uint64_t number = 0;  // no other segment of the collection ever has it
  std::shared_ptr<const Segment> segment;
  std::shared_ptr<const PlaceBits> live;  // words() of the block
  size_t dead = 0;
  int level = 0;
  uint64_t age = 0;
};

// Segments that are to be in images, and what then is in none.
struct ItemSetState {
  std::vector<SegmentState> segments;  // by rising number
  uint64_t first_change = UINT64_MAX;  // the oldest whose document is in none of them
};

// Thread-safe.
class ItemSet {
 public:
  // kInvalid: names of attributes are too many, empty or repeated.
  static Result<std::unique_ptr<ItemSet>> Make(const ItemSetOptions& options);
  ~ItemSet();

  // What Upsert refuses with kInvalid: another number of attributes, more than
  // ItemSetSpec::kMostTokens.
  Status Check(const Document& document) const;
  // Whether so many small segments wait for merges that changes had better wait, too. From here on
  // Upsert still takes 32,768 documents before it waits itself.
  bool Lags() const;
  // Adds the document, or puts it in the place of the one with its id. kRefused: there are as many
  // segments as can be. Waits while merges lag twice as far behind as Lags says. `change`: a number
  // of the caller's that never falls, for CaptureState.
  Status Upsert(Document document, uint64_t change = 0);
  // Whether there was one.
  bool Delete(DocumentId id);
  std::optional<Document> Get(DocumentId id) const;
  // From `cursor` on, 0 at first: at most `most` documents, at least 1, and no more than about
  // `bytes_max` bytes of them, at least one if there is one. A page is of one moment; over several
  // a document that is there all the time, whatever becomes of others, comes just once.
  DocumentPage Scan(uint64_t cursor, size_t most, size_t bytes_max) const;

  // The answer to each query, best first. Tokens of a query in any order, repeats count once.
  // kInvalid: what the filter or a query asks for there is not. `reports` may be null; one for each
  // kind of token numbers that segments have, and each group of them on a GPU.
  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal,
                                               const ItemFilter& filter,
                                               std::vector<SearchReport>* reports = nullptr) const;

  // One answer to each query over the documents of several sets with the same attributes, as if
  // they were in one; no id is in two of them. Each set is seen at a moment of its own after the
  // call began. What is found in one spares work in the others. `reports` as of Search.
  static Result<std::vector<std::vector<Hit>>> SearchTogether(
      std::span<const ItemSet* const> sets, const SetList& queries, const SearchGoal& goal,
      const ItemFilter& filter, std::vector<SearchReport>* reports = nullptr);

  // All segments of the last level, and whatever else has documents of changes before `floor`; a
  // tail that has any becomes a segment. Nobody makes changes meanwhile. kRefused as Upsert.
  Result<ItemSetState> CaptureState(uint64_t floor);
  // Segments of the last level that were made so far: each is a reason to capture the state.
  uint64_t large_made() const { return large_made_; }
  // Puts captured segments into a collection that is new. kCorrupt: a document is alive in two
  // places, or a segment has other attributes than the collection.
  Status RestoreState(std::vector<SegmentState> segments);

  // Returns when there is nothing left to merge.
  void WaitForMerges();
  // Then also when no more of it can be brought to the GPU.
  void WaitForGpu();
  ItemSetStats Stats() const;
  const ItemSetSpec& spec() const { return options_.spec; }

 private:
  static constexpr size_t kFan = 16;  // segments of a level that become one of the next
  static constexpr int kLevels = 3;

  // A segment in its slot.
  struct Held {
    std::shared_ptr<const Segment> segment;  // null: the slot is free
    std::shared_ptr<PlaceBits> live;
    bool is_shared = false;  // somebody else reads `live`: who changes it copies it first
    size_t dead = 0;
    int level = 0;
    size_t of = 1;              // segments of its level that it has been made of
    uint64_t age = 0;           // rises from segment to segment
    uint64_t number = 0;        // likewise; a merged one has a new one
    uint64_t first_change = 0;  // of those that its documents came with
  };
  struct Part {
    std::shared_ptr<const Segment> segment;
    std::shared_ptr<const PlaceBits> live;  // null: all
    uint64_t number = 0;                    // of the segment; 0: the tail's
  };
  struct View {
    std::vector<Part> parts;
    std::vector<std::shared_ptr<const Document>> tail;
    uint64_t tail_version = 0;
    std::shared_ptr<const TokenNumbers> numbers;
  };
  struct Merge {
    std::vector<uint16_t> slots;
    std::vector<Part> parts;
    int level = 0;  // of what is made
    size_t of = 1;  // Held::of
  };

  // What is searched at once: segments of the same token numbers, in one place.
  struct SearchedKind;

  explicit ItemSet(const ItemSetOptions& options);

  View Look() const;
  void AddKinds(const ItemFilter& filter, std::vector<SearchedKind>& kinds,
                std::vector<std::shared_ptr<const PlaceBits>>& held) const;
  Result<std::vector<std::vector<Hit>>> SearchKind(const SearchedKind& kind, const SetList& numbers,
                                                   const SearchGoal& goal,
                                                   SearchReport& report) const;
  void CountQueries(std::span<const SearchReport> reports, size_t queries) const;
  std::shared_ptr<const Segment> TailSegment(const View& view) const;

  void MarkDead(Location location) STRATA_REQUIRES(mutex_);
  Status Seal() STRATA_REQUIRES(mutex_);
  std::optional<uint16_t> FreeSlot() const STRATA_REQUIRES(mutex_);
  uint16_t Hold(std::shared_ptr<const Segment> segment, int level, uint64_t age,
                uint64_t first_change) STRATA_REQUIRES(mutex_);
  static bool IsThin(const Held& held);
  Merge ChooseMerge() const STRATA_REQUIRES(mutex_);
  std::vector<uint16_t> OldestOf(int level) const STRATA_REQUIRES(mutex_);
  std::vector<uint16_t> Thinned(int level) const STRATA_REQUIRES(mutex_);
  size_t RoomOf(int level) const;  // documents of a full segment
  size_t SmallSegments() const STRATA_REQUIRES(mutex_);
  void Publish(const Merge& merge, const std::shared_ptr<const Segment>& made)
      STRATA_REQUIRES(mutex_);
  void WantOnGpu() STRATA_REQUIRES(mutex_);

  static std::shared_ptr<const Segment> Build(const Merge& merge,
                                              std::shared_ptr<const TokenNumbers> numbers);
  void MergeUntilStopped();

  const ItemSetOptions options_;

  mutable Mutex mutex_;
  CondVar changed_;
  // Null: gone.
  std::vector<std::shared_ptr<const Document>> tail_ STRATA_GUARDED_BY(mutex_);
  std::vector<DocumentId> tail_ids_ STRATA_GUARDED_BY(mutex_);  // never moves
  uint64_t tail_version_ STRATA_GUARDED_BY(mutex_) = 0;
  uint64_t tail_first_ STRATA_GUARDED_BY(mutex_) = 0;  // change of its first document
  // By slot; slot 0 is the tail's. Looking shares live bits.
  mutable std::vector<Held> held_ STRATA_GUARDED_BY(mutex_);
  Locations locations_ STRATA_GUARDED_BY(mutex_);
  std::shared_ptr<const TokenNumbers> numbers_ STRATA_GUARDED_BY(mutex_);  // of new segments
  uint64_t ages_ STRATA_GUARDED_BY(mutex_) = 0;
  uint64_t numbered_ STRATA_GUARDED_BY(mutex_) = 0;  // segments
  uint64_t merges_ STRATA_GUARDED_BY(mutex_) = 0;
  bool is_merging_ STRATA_GUARDED_BY(mutex_) = false;
  bool stop_ STRATA_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> large_made_{0};

  std::unique_ptr<GpuCopy> on_gpu_;  // null: there is no GPU
  mutable std::array<std::atomic<uint64_t>, kSearchEngines> queries_by_{};
  mutable std::atomic<uint64_t> streamed_{0};
  mutable SearchPace pace_;
  mutable SearchPace streamed_pace_;  // of segments that pass through a GPU's memory

  // The index of the tail that was searched last.
  mutable Mutex tail_mutex_;
  mutable std::shared_ptr<const Segment> tail_segment_ STRATA_GUARDED_BY(tail_mutex_);
  mutable uint64_t tail_segment_version_ STRATA_GUARDED_BY(tail_mutex_) = UINT64_MAX;

  std::jthread merger_;  // last: it ends before what it uses
};

}  // namespace strata
