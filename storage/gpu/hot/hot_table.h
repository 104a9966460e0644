// HotTable: a table whose hot rows lie in a GPU's memory (tier hot), and all others in a table
// below (host memory, or that over RocksDB). The caller cannot tell which, but for the time it
// takes.
//
// A row that is in the GPU's memory counts there; its score (kernels/hashmap/residents.h) says
// whether the table below has the same bytes (clean), older ones (dirty), or has not heard of the
// key. All others count as the table below has them.
//   up     Rows that a batch misses are gathered below by host threads, a chunk at a time, while
//          room is made and the GPU takes in the chunks before. Those of updates stay; those of
//          lookups do if their score is as high as that of those that went last, and but a part of
//          them where others would have to go and nothing is written. Prefetch brings
//          rows up beforehand: a hint. Where only host memory lies below, it begins to, and
//          returns: rows are gathered while lookups go on that find all their keys, and the GPU
//          takes them in with the next hint, or before anything else is done.
//   down   When there is no room, rows of low scores go: clean ones are dropped, dirty ones come
//          down compactly and are written to the table below first.
//   parts  Residency makes room, RowEvictor has rows go, RowGatherer brings them up, HintedRows
//          does so beside other work.
//   locks  A row that a batch works on, or that was prefetched, carries a tick that has not passed,
//          and does not go before it has. Nothing has to be unlocked.
// A row that has expired (LowerTable::AliveFrom) goes on counting where it lies, as none: the table
// below may have an older version that has not.
// What the GPU has no memory for, a batch larger than all of it, say, is done below. Batches may
// lie in the GPU's memory themselves.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/thread/mutex.h"
#include "base/thread/side_thread.h"
#include "base/thread/work_pool.h"
#include "kernels/hashmap/residents.h"
#include "kernels/sparse/missing_keys.h"
#include "storage/gpu/gpu_table.h"
#include "storage/gpu/hot/hinted_rows.h"
#include "storage/gpu/hot/keys_down.h"
#include "storage/gpu/hot/lower_rows.h"
#include "storage/gpu/hot/residency.h"
#include "storage/gpu/hot/resident_counts.h"
#include "storage/gpu/hot/row_evictor.h"
#include "storage/gpu/hot/row_gatherer.h"
#include "storage/memory/lower_table.h"

namespace strata {

struct Counters;    // gpu_calls.cuh
struct HostCounts;  // host_counts.cuh

// Whether one of the parts of a table, on several lanes, has warned that it passes batches down.
using WarnedFlag = std::atomic<bool>;

struct HotTableOptions {
  VictimOrder order = VictimOrder::kLeastRecent;
  // On the GPU, however small they are; lets tests move rows with few of them.
  uint64_t rows_max = UINT64_MAX;
  // A batch that misses more of them has them gathered in chunks that are no smaller but for the
  // last ones, as each takes some launches and waits; lets tests have many.
  size_t chunk_rows_min = 4096;
  // Keys that a lookup asks below for at once; of more it is done by halves.
  size_t missing_max = kMissingKeysMax;
  std::shared_ptr<WarnedFlag> warned = std::make_shared<WarnedFlag>(false);
};

// Counts since the table was made.
struct HotStats {
  uint64_t rows = 0;         // on the GPU now
  uint64_t bytes = 0;        // of the GPU's memory
  uint64_t hits = 0;         // keys of lookups found there
  uint64_t moved_up = 0;     // rows; those that were read for an answer alone do not count
  uint64_t moved_down = 0;   // rows written to the table below
  uint64_t bytes_down = 0;   // ... of rows that were written below
  uint64_t passed_down = 0;  // lookups, updates and assigns done below
};

// Not thread-safe, as GpuTable. The pools outlive the table.
class HotTable : public GpuTable {
 public:
  // Of its GPU, beside the pool, and as much pinned memory: once rows have come up in large
  // numbers.
  static constexpr size_t kStagingBytes = RowGatherer::kSlots * RowGatherer::kChunkBytes;

  HotTable(const TableSpec& spec, DevicePool& pool, std::shared_ptr<PinnedPool> host,
           std::unique_ptr<LowerTable> below, WorkPool& workers, const HotTableOptions& options);
  ~HotTable() override;

  Status Lookup(std::span<const Key> keys, std::span<float> out) override;
  Status PrepareUpdate(std::span<const GradientPart> parts) override;
  void CommitUpdate(uint64_t step) override;
  Status CheckStep(uint64_t step, uint64_t skipped) const override {
    return below_->CheckStep(step, skipped);
  }
  // Not where keys are admitted late or rows expire, which is asked below for each update, nor what
  // has to be passed down.
  Status PrepareUpdates(std::span<const GradientPart> updates) override;
  void CommitUpdates(std::span<const uint64_t> steps) override;
  Status PrepareAssign(std::span<const Key> keys, std::span<const float> values) override;
  void CommitAssign() override;
  Status PrepareErase(std::span<const Key> keys) override;
  uint64_t CommitErase() override;
  // Before the first page all rows that the table below has not heard of are written down; the
  // pages are its own then, with what the GPU has newer. A row that it has heard of stays there as
  // long as the GPU has it, even if it has expired below, so that no page lacks it.
  Status Scan(ScanPage& page) const override;
  TableStats Stats() const override;
  std::array<TierUse, kTiers> Tiers() const override;
  // As many of them as a quarter of the table's share of the GPU's memory holds; those on disk come
  // to host memory.
  bool Prefetch(std::span<const Key> keys) override;
  Status Lend(const Exec& exec) override;
  bool HasTiersBelow() const override { return true; }
  Status MakeResident(std::span<const uint64_t> places, std::span<const Key> keys) override;
  void NoteLookup(uint64_t keys, uint64_t hits, uint64_t here) override;

  Status LookForRoom() override { return below_->LookForRoom(); }
  void KeepToShare() override;

  // First the rows that were dirty at the cut, from the GPU, then those that the table below had.
  void SetEpoch(uint32_t epoch) override;
  uint32_t BeginSnapshot(uint32_t since) override;
  Status SnapshotPage(ScanPage& page) override;
  std::vector<Key> SnapshotErased() const override;
  void ForgetErased(uint32_t epoch) override;
  void ExpectRows(uint64_t count) override;

  HotStats hot_stats() const;

 private:
  // hot_table.cu
  RowStart Start() const override;
  DeviceMapOptions MapOptions() const override;
  // With memory to evict, and so to let the table below do what needs more.
  Status MakeMap() override;
  Status MakeRoom() override;
  void BeforeUpdate() override;
  void BeginOperation();
  void BeginBesideHint();  // the same, and a hint's rows may still be on their way
  void BeginWrite();       // an operation that writes rows
  void FinishHint();
  void ClearBelow();  // of what has expired there, and is not here
  bool BelowIsEmpty() const { return below_->Stats().rows == 0; }
  // Makes room for the rows of a batch that is about to be written to, and brings them up.
  Status BringUp(std::span<const Key> keys);
  void TakeIn(const RowChunk& chunk);  // those that stay
  uint32_t CopiedOfBatch();            // distinct keys whose row is here, and known below
  // Of the keys that an update is about to make rows for, those stay missing that the table below
  // does not admit yet.
  Status AdmitMissing();
  // ListPushes' answer for so many keys, with kPassOver where the table below does not admit the
  // key: it is late.
  std::vector<uint32_t> AskForAdmission(size_t count);
  void KeepToShareHere();  // of the GPU's memory
  // Whether the GPU, or the host where rows were to go down, has no memory for rows or a batch.
  static bool IsShortOfMemory(const Status& status);
  // The table below is to do what the GPU has no memory for: no row is there then. `why` where the
  // batch itself is in the GPU's memory. The first time of a table is a warning in the log.
  Status PassDown(const Status& why, const void* batch);

  // hot_lookup.cu
  Status LookUpPart(std::span<const Key> keys, std::span<float> out);  // of a Lookup
  Status LookUpInTiers(std::span<const Key> keys, std::span<float> out);
  // Looks the keys up on the GPU. What was counted: `absent` keys are not there,
  // missing_positions_ and missing_keys_ list them.
  struct Answers {
    float* out = nullptr;     // as LookUpResidents
    std::span<float> down;    // where that is copied then, if there is any
    bool only_finds = false;  // neither: CopyHere does it
  };
  Result<Counters> LookUpHere(std::span<const Key> keys, uint64_t tick, const Answers& answers);
  void CopyHere(std::span<const Key> keys, float* out);
  std::span<const Key> KeysHere(std::span<const Key> keys) const;  // of a lookup
  // Answers those of the listed keys that are not here. `out` as LookUpResidents; null: for a hint,
  // so that all come up. meanwhile() comes once the GPU has been asked for the keys, and may
  // enqueue what it is to do while rows are read.
  Status AnswerFromBelow(uint32_t missing, ReadFrom from, uint64_t tick, float* out,
                         const std::function<void()>& meanwhile);
  Status ReadForAnswer(size_t keys, ReadFrom from, uint64_t tick, const MissingKeys& missing,
                       float* out);
  // Begins to list the distinct keys among so many missing ones, and to bring them to wanted_:
  // *distinct_here, which is pinned, is how many once the first are here.
  Status ListForBelow(uint32_t missing, uint32_t* distinct_here);
  // Whether of so many rows that a lookup misses only some come up: others would have to go for
  // them, and what is asked for once in a while would go in turn before it is asked for again. A
  // part drawn anew each time keeps what is asked for often: q-LRU, whose hits are nearly LFU's
  // (Garetto, Leonardi, Martina: A unified approach to the performance analysis of caching systems,
  // 2016). Not while the table is written to, as an update brings up all that it writes, nor
  // where a row may have to be read from a disk again.
  bool ChoosesAmong(size_t rows) const;
  // Of the last operations, what they do being likely to come again.
  bool IsRecent(uint64_t tick) const;
  Status ReserveMissing(size_t keys);
  uint32_t CountMissing();
  MissList MissingList() const;
  DistinctMissing distinct_missing() const;
  HostCounts& host_counts() const;

  // hot_snapshot.cu
  void MarkForSnapshot(uint32_t held) override;
  void UnmarkForSnapshot() override;
  Status LoadRows(const ScanPage& page) override;  // to the table below
  Status TellBelow() const;                        // of all keys
  // What the GPU has of the page's keys, and of those that have expired below.
  Status PutNewer(std::span<const Key> expired, ScanPage* page) const;

  const std::unique_ptr<LowerTable> below_;
  const HotTableOptions options_;
  mutable ResidentCounts counts_;
  mutable LowerRows lower_rows_;
  RowGatherer gatherer_;
  RowEvictor evictor_;
  Residency residency_;
  mutable HintedRows hinted_;
  uint64_t hits_ = 0;  // keys of lookups found on the GPU
  uint64_t batches_passed_down_ = 0;
  bool passed_down_ = false;  // what is left of the operation is the table below's

  KeysDown wanted_;      // of the operation
  DeviceBuffer places_;  // of a lookup's keys that were only found
  DeviceBuffer missing_positions_;
  DeviceBuffer missing_keys_;
  DeviceBuffer distinct_keys_;  // of the missing ones
  DeviceBuffer distinct_numbers_;
  DeviceBuffer distinct_rows_;
  DeviceBuffer expired_;  // numbers of distinct keys
  std::shared_ptr<float[]> host_counts_;
  void* counted_here_ = nullptr;  // cudaEvent_t: what a search has counted
  // The tick of the last operation that had rows gathered, hints too, and that of the last lookup
  // that missed a key; 0: none did.
  uint64_t missed_at_ = 0;
  uint64_t lookup_missed_at_ = 0;
  uint64_t written_at_ = 0;  // the tick of the last operation that wrote rows

  // Between Prepare and Commit: keys that get no row yet.
  std::vector<Key> late_keys_;
  std::vector<uint32_t> late_pushes_;

  // Of a snapshot: keys whose rows it takes from the GPU.
  std::vector<Key> taken_keys_;
  uint64_t snapshot_alive_from_ = 0;
  bool hot_part_done_ = false;
};

}  // namespace strata
