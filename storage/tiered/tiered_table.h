// TieredTable: a table larger than the memory it may use. Its rows lie in memory (WarmRows) or in
// the cold tier (RocksDb); the caller cannot tell which, but for the time it takes.
//
// A row that is in memory counts there, whatever the cold tier holds of its key: its flags say
// whether memory alone has it (dirty) or the cold tier has the same bytes. A row that is not in
// memory counts as the cold tier has it, unless the key is in dead_: erased, and not yet there.
//   down   When memory runs short, rows with low scores (policy.h) go: clean ones are dropped, of
//          dirty ones a batch is written by the executor. They stay where they are until it is, and
//          longer if they were touched meanwhile. A batch that cannot be written (disk full) leaves
//          its rows dirty in memory; once nothing can go down any more, updates and assigns that
//          need room are refused with that error.
//   up     Rows that an update misses are read in one batch and stay in memory. Those that a lookup
//          misses do if there is room and their score is as high as those that went last. Prefetch
//          brings rows up beside the requests.
// Value, optimizer state and counters always move together.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/seeded_hash.h"
#include "base/thread/mutex.h"
#include "kernels/optim/apply.h"
#include "storage/memory/combine.h"
#include "storage/memory/lower_table.h"
#include "storage/rocks/rocks_db.h"
#include "storage/row_elements.h"
#include "storage/tiered/policy.h"
#include "storage/tiered/push_counts.h"
#include "storage/tiered/scan_order.h"
#include "storage/tiered/tier_job.h"
#include "storage/tiered/warm_rows.h"
#include "storage/tiered/warm_shares.h"

namespace strata {

// Counts since the table was made.
struct TierStats {
  uint64_t warm_rows = 0;  // now
  uint64_t warm_bytes = 0;
  // Keys of lookups, distinct keys of updates, and those that ReadRows was asked for, found in
  // memory.
  uint64_t warm_hits = 0;
  uint64_t cold_hits = 0;  // ... in the cold tier
  uint64_t moved_up = 0;   // rows, prefetched ones among them
  uint64_t prefetched = 0;
  uint64_t moved_down = 0;    // rows written to the cold tier
  uint64_t dropped = 0;       // rows that left memory
  uint64_t waits = 0;         // requests that waited for rows to go down
  uint64_t not_admitted = 0;  // keys of updates that got no row yet
};

// Not thread-safe; what it posts to the executor takes part of nothing but its own job. All that is
// passed in outlives the table.
//
// A batch of updates needs all its rows in memory at once; one that neither the table's share nor
// what is left of the budget has room for is refused.
class TieredTable : public LowerTable, private Admission {
 public:
  // `spec` has passed ValidateTableSpec.
  TieredTable(const TableSpec& spec, const TierPolicy& policy, WarmShares& warm, RocksDb& cold,
              TierExecutor& executor);
  ~TieredTable() override;

  const TableSpec& spec() const override { return spec_; }
  Status Lookup(std::span<const Key> keys, std::span<float> out) override;
  Status PrepareUpdate(std::span<const GradientPart> parts) override;
  void CommitUpdate(uint64_t step) override;
  Status PrepareAssign(std::span<const Key> keys, std::span<const float> values) override;
  void CommitAssign() override;
  Status PrepareErase(std::span<const Key> keys) override;
  uint64_t CommitErase() override;
  // By rising hash of the key; the cursor is a hash.
  Status Scan(ScanPage& page) const override;
  TableStats Stats() const override;
  std::array<TierUse, kTiers> Tiers() const override;
  // As many of them as a quarter of the table's share of memory holds.
  bool Prefetch(std::span<const Key> keys) override;

  Status LookForRoom() override { return cold_.LookForRoom(); }
  void KeepToShare() override;

  // Rows that are read from the cold tier stay there alone: a faster one has them now.
  Status ReadRows(std::span<const Key> keys, const ReadOptions& options, WorkPool& pool,
                  const RowVisit& visit) override;
  Status WriteRows(const RowsDown& down, WorkPool& pool) override;
  uint64_t home_seed() const override { return warm_.hash().seed; }
  Admission* admission() override { return push_counts_ == nullptr ? nullptr : this; }
  Status CheckStep(uint64_t step, uint64_t skipped) const override {
    return strata::CheckStep(policy_, spec_.name, step, now_step_, skipped);
  }
  bool RowsExpire() const override { return policy_.ttl_steps != 0; }
  uint64_t AliveFrom() const override {
    return RowsExpire() && now_step_ > policy_.ttl_steps ? now_step_ - policy_.ttl_steps : 0;
  }
  void Stepped(uint64_t step) override;
  std::vector<Key> TakeExpired() override { return std::exchange(expired_, {}); }
  void DropExpired(std::span<const Key> keys) override;
  Status ScanWithExpired(ScanPage& page, std::vector<Key>* expired) const override;

  TierStats tier_stats() const;

 private:
  // A batch on its way down: first the erased keys go, then the rows come.
  struct Down {
    std::vector<Key> dead;
    std::vector<Key> keys;
    std::vector<std::byte> rows;
    uint32_t tick = 0;
    Status status;
  };
  // A batch on its way up.
  struct Up {
    std::vector<Key> keys;
    std::vector<std::byte> rows;
    std::vector<uint8_t> found;
    Status status;
  };
  struct Target {
    const float* gradient;
    uint64_t row;  // kNoRow: to be made
    Key key;
    uint32_t parts;  // that brought it
  };

  // tiered_table.cc
  bool IsDead(const RowCounters& counters) const {
    return IsExpired(policy_, counters.last_step, now_step_);
  }
  void NoteStep(uint64_t step);  // of an update, or of a row loaded
  void NoteExpired();
  bool Admits(Key key, uint32_t pushes) const;
  void RefuseExpired();  // those of targets_ whose row is none any more, and that get none yet
  void CountPush(Key key, uint32_t pushes);
  void Admit(std::span<const Key> keys, std::span<const uint32_t> pushes,
             std::span<uint8_t> admitted) const override;
  void CountPushes(std::span<const Key> keys, std::span<const uint32_t> pushes) override;
  void BeginOperation();
  uint64_t bytes() const { return warm_.bytes() + (push_counts_ ? push_counts_->bytes() : 0); }
  void NoteShare();
  // Says that it would take more than its share is.
  void AskForMore();
  void ShedBeyondShare();
  // The rows of keys that are not in memory, to cold_rows_ and cold_found_.
  Status ReadCold(std::span<const Key> keys);
  // The rows of key_of(i) for each i of missing_, likewise but a piece at a time: calls
  // use(some of missing_) behind each.
  template <typename KeyOf, typename Use>
  Status ReadMissing(const KeyOf& key_of, const Use& use);
  // Brings up what targets_ lacks of the cold tier, and makes room for what nobody has.
  Status BringUp(bool with_admission);
  void BeforeWrite(uint64_t row);
  void Reset(Key key, uint64_t row);  // to what a new row is
  uint64_t MakeRow(Key key);

  // tiered_moves.cc
  // Room for `count` rows more; pinned are the rows that this operation touched.
  Status MakeRoom(uint64_t count);
  bool HasRoom(uint64_t count);
  // One step towards room for `count` rows: drops clean ones, starts a batch of dirty ones. False
  // when it could do neither.
  bool MoveDown(uint64_t count, uint32_t age_min, uint8_t flags_out);
  void MoveDownOld(uint64_t count);  // what it takes from no request under way
  void KeepRoomAhead();
  // Gives memory back to tables that came later: all rows go down, hot ones come up again.
  void Shed();
  void StartDown(std::span<const uint64_t> rows);
  Status SettleDown();  // waits for the batch
  void SettleUp();
  // Reading again what is on its way would take longer than to wait for it. Whether it did.
  bool AwaitUp(bool is_wanted);
  void StartUp();
  void Drop(uint64_t row);
  void Bury(uint64_t row);                          // a row in memory is erased, or its time is up
  uint64_t AddCopy(Key key, const std::byte* row);  // of what the cold tier has

  // tiered_snapshot.cc
  Status ScanBoth(ScanPage& page, std::vector<Key>* expired) const;  // null: nobody asks
  void OrderForScans() const;
  void EndScanPage(const ScanPage& page) const;
  void ForgetOldScans();
  // Dirty rows are taken from memory, copied aside before their first write; all others from the
  // cold tier as it was at the cut. The copies are not counted in the budget.
  void MarkForSnapshot(uint32_t held) override;
  Status TakeForSnapshot(ScanPage& page) override;
  void UnmarkForSnapshot() override;
  void KeepForSnapshot(uint64_t row);
  bool IsInSnapshot(const RowCounters& counters) const;
  Status SnapshotCold(ScanPage& page);
  // Rows stay in memory as long as there is room without moving others, then go to the cold tier.
  Status LoadRows(const ScanPage& page) override;
  void CopyLoaded(const ScanPage& page, size_t i, float* elements, RowCounters& counters) const;
  Status LoadAbove(const ScanPage& page, std::span<const uint32_t> places);
  Status LoadCold(const ScanPage& page, std::span<const uint32_t> places);

  const TableSpec spec_;
  const RowSchema schema_;
  const size_t row_bytes_;
  const TierPolicy policy_;
  WarmShares& warm_shares_;
  RocksDb& cold_;
  const SpaceId space_;
  TierExecutor& executor_;

  MemoryBudget budget_;  // this table's part
  WarmRows warm_;
  PoolShare share_;
  uint64_t share_bytes_ = 0;  // for rows
  uint64_t warm_rows_max_ = 1;
  uint64_t room_ahead_ = 1;           // rows that operations find free if the executor keeps up
  uint32_t tick_ = 64;                // operations; no row is younger than the table
  uint64_t now_step_ = 0;             // the highest step of an update
  uint64_t first_step_ = UINT64_MAX;  // no row was ever pushed at a lower one
  double score_gone_ = std::numeric_limits<double>::lowest();  // of rows last chosen to go
  bool cold_used_ = false;  // something was written to the cold tier
  TableStats stats_;
  TierStats tier_stats_;
  SeededMap<uint64_t> dead_;  // and the number of the batch that takes it down
  uint64_t downs_ = 0;        // batches started
  TierJob<Down> down_;
  TierJob<Up> up_;
  SeededSet up_keys_;  // on their way up, and not made or erased since
  std::vector<Key> up_wanted_;
  std::unique_ptr<PushCounts> push_counts_;  // with admission
  bool is_below_ = false;                    // another table has copies and newer versions of rows
  std::vector<Key> expired_;                 // that it is to be told of

  // Between Prepare and Commit.
  GradientCombiner combiner_;
  std::vector<Target> targets_;
  RowUpdates updates_;
  uint64_t rejected_ = 0;
  std::span<const Key> assign_keys_;
  std::span<const float> assign_values_;
  std::span<const Key> erase_keys_;
  std::vector<Key> erase_cold_;  // those that the cold tier has and memory has not

  Mutex reading_;  // held by ReadRows
  std::vector<uint64_t> down_rows_;
  std::vector<uint32_t> missing_;
  std::vector<Key> cold_keys_;
  std::vector<std::byte> cold_rows_;
  std::vector<uint8_t> cold_found_;

  mutable ScanOrder scan_order_;         // empty: no scan is under way
  mutable uint64_t scan_next_ = 0;       // where the last page ended
  mutable bool scan_is_shared_ = false;  // several scans have used the order
  mutable uint32_t scan_tick_ = 0;       // of the last page

  std::unique_ptr<RocksSnapshot> snapshot_;
  std::vector<uint64_t> snapshot_stale_;  // hashes whose cold rows did not count at the cut
  uint64_t snapshot_step_ = 0;            // now_step_ at the cut
  uint64_t snapshot_row_ = 0;             // rows in memory below have been visited
  uint64_t snapshot_rows_ = 0;            // row numbers at the cut
  uint64_t snapshot_hash_ = 0;            // where in the cold tier the next page begins
  bool snapshot_cold_done_ = false;
};

}  // namespace strata
