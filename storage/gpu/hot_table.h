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
//   locks  A row that a batch works on, or that was prefetched, carries a tick that has not passed,
//          and does not go before it has. Nothing has to be unlocked.
// A row that has expired (LowerTable::AliveFrom) goes on counting where it lies, as none: the table
// below may have an older version that has not.
// What the GPU has no memory for, a batch larger than all of it, say, is done below. Batches may
// lie in the GPU's memory themselves.
#pragma once

#include <array>
#include <atomic>
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
#include "storage/memory/lower_table.h"

namespace strata {

struct Counters;  // gpu_calls.cuh

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

// Threads that gather rows on their way up, as many as saturate a host's memory; tables share them.
Result<std::unique_ptr<WorkPool>> StartGatherers();

// Not thread-safe, as GpuTable. The pools outlive the table.
class HotTable : public GpuTable {
  static constexpr size_t kFillers = 2;
  static constexpr size_t kChunkSlots = kFillers + 2;
  static constexpr size_t kChunkBytes = size_t{16} << 20;

 public:
  // Of the rows that a lookup misses one of so many comes up where others would have to go for
  // them, of a table in host memory that is only read.
  static constexpr uint64_t kTurns = 8;

  // Of its GPU, beside the pool, and as much pinned memory: once rows have come up in large
  // numbers.
  static constexpr size_t kStagingBytes = kChunkSlots * kChunkBytes;

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
  // Rows on their way up: a part of what was asked for, on the GPU, as they are stored.
  struct Chunk {
    uint32_t count = 0;
    const SlotHeader* headers = nullptr;  // of the first `stay`
    const uint32_t* numbers = nullptr;    // in what was asked for; null where it was sent in parts
    const float* rows = nullptr;          // x words()
    uint32_t stay = 0;                    // the first ones come up, with a score to stay
    uint32_t first = 0;                   // all numbers from there on ...
    uint32_t places = 0;                  // ... were looked for
  };
  // Where a chunk is put together. Two threads fill, so that none waits for the last row of a
  // chunk, while the GPU takes in another chunk, and one is between.
  class ChunkSlot;
  struct Reading;
  // Rows on their way down, on the host.
  struct DownRows {
    std::shared_ptr<float[]> memory;
    std::span<const SlotHeader> headers;
    std::span<const float> rows;
  };

  // hot_table.cu
  void MarkForSnapshot(uint32_t held) override;
  void UnmarkForSnapshot() override;
  Status LoadRows(const ScanPage& page) override;  // to the table below
  RowStart Start() const override;
  DeviceMapOptions MapOptions() const override;
  // With memory to evict, and so to let the table below do what needs more.
  Status MakeMap() override;
  Status MakeRoom() override;
  void BeforeUpdate() override;
  void BeginOperation();
  void BeginBesideHint();  // the same, and a hint's rows may still be on their way
  void BeginWrite();       // an operation that writes rows
  void ClearBelow();       // of what has expired there, and is not here
  Status LookUpPart(std::span<const Key> keys, std::span<float> out);  // of a Lookup
  Status LookUpInTiers(std::span<const Key> keys, std::span<float> out);
  bool BelowIsEmpty() const { return below_->Stats().rows == 0; }
  // Answers those of the listed keys that are not here. `out` as LookUpResidents. meanwhile() comes
  // once the GPU has been asked for the keys, and may enqueue what it is to do while rows are read.
  template <typename Meanwhile>
  Status AnswerFromBelow(uint32_t missing, ReadFrom from, uint64_t tick, float* out,
                         const Meanwhile& meanwhile);
  // Of the last operations, what they do being likely to come again.
  bool IsRecent(uint64_t tick) const;
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
  Status ReserveMissing(size_t keys);
  uint32_t CountMissing();
  uint32_t CopiedOfBatch();  // distinct keys whose row is here, and known below

  // Of the keys that an update is about to make rows for, those stay missing that the table below
  // does not admit yet.
  Status AdmitMissing();
  // ListPushes' answer for so many keys, with kPassOver where the table below does not admit the
  // key: it is late.
  std::vector<uint32_t> AskForAdmission(size_t count);

  // hot_moves.cu
  // Which rows come up, and what becomes of them.
  struct ReadRule {
    ReadFrom from = ReadFrom::kAll;
    uint64_t tick = 0;        // when they are used
    uint64_t alive_from = 0;  // those that have expired by it stay below
    uint32_t stays_from = 0;  // Chunk::stay: rows of so many pushes
    // Of kTurns turns: its rows come up, those of the others are for the answer alone.
    std::optional<uint64_t> turn = std::nullopt;
  };
  // Begins to list the distinct keys among so many missing ones, and to bring them:
  // *distinct_here, which is pinned, is how many once the first are here.
  Status ListForBelow(uint32_t missing, uint32_t* distinct_here);
  // Begins to copy the keys from the GPU to wanted_: the first kFirstKeys of them,
  // first_keys_here_, then the others, all_keys_here_. ReadBelow comes next.
  Status BringKeys(std::span<const Key> keys);
  void BringPart(std::span<const Key> keys, size_t at, void* here);
  void WakeGatherers();
  // Rows of the first `count` keys that BringKeys has begun with, one at least, chunk by chunk, to
  // use(chunk): device work on the stream. The first chunk is gathered here, the others on the
  // fillers' threads, and each is sent to the GPU by who gathered it; prepare(reading) comes before
  // the first use, while that goes on.
  template <typename Prepare, typename Use>
  Status ReadBelow(size_t count, const ReadRule& rule, const Prepare& prepare, const Use& use);
  Status MakeSlots(size_t count);
  Status StartFillers();
  // The parts of ReadBelow. Chunks from `first` on are gathered on the fillers' threads, each one
  // behind before(its number).
  template <typename Before>
  void BeginReading(Reading& reading, size_t first, const Before& before);
  void FillChunk(Reading& reading, size_t c);
  template <typename Use>
  Status UseChunks(Reading& reading, const Use& use);
  template <typename Use>
  Status UseChunk(Reading& reading, const Use& use);  // the next one, which is full
  void EndReading(Reading& reading);                  // chunks that are not used by now are lost
  // Begins to gather what is missing, and takes in the hint before it, whose rows are gathered by
  // then.
  Status BeginHint(uint32_t missing, uint64_t tick);
  void AddHinted(const Chunk& chunk);
  void TakeInGathered();  // what the hint's threads have ready, if there is one
  // Waits for the rows of the hint that was begun, if one was, and takes them in.
  void FinishHint();
  void AwaitHint(Reading& hint);   // its rows are gathered, and its threads at rest
  void TakeInHint(Reading& hint);  // behind that; makes room for them, unless that has been done
  // Rows in the map before a hint's have come and when they have, and how many have ever gone.
  struct HintRows {
    unsigned long long before;
    unsigned long long behind;
    uint64_t gone_before;
    uint64_t gone;
  };
  void SettleHint() const;  // counts what the last one that is finished has brought
  uint64_t HintRowsHere(uint64_t rows) const;  // of so many in the map, those of hint_
  Status MakeEvents();
  // Where the chunks of so many keys begin, and the last one ends.
  std::vector<size_t> ChunksOf(size_t keys) const;
  std::vector<size_t> PartsOfHint(size_t keys) const;  // that fit a slot
  // Reads what the chunk's keys have below into the slot from `place` on.
  Status Fill(const Reading& reading, size_t c, ChunkSlot& slot, size_t place);
  // Makes room for the rows of a batch that is about to be written to, and brings them up.
  Status BringUp(std::span<const Key> keys);
  void TakeIn(const Chunk& chunk);  // those that stay
  // `out` null: for a hint, so that all come up.
  Status ReadForAnswer(size_t keys, ReadFrom from, uint64_t tick, const MissingKeys& missing,
                       float* out);
  uint32_t ChunkRows() const;  // at most

  // hot_room.cu
  // Whether of so many rows that a lookup misses only some come up: others would have to go for
  // them, and what is asked for once in a while would go in turn before it is asked for again. A
  // part drawn anew each time keeps what is asked for often: q-LRU, whose hits are nearly LFU's
  // (Garetto, Leonardi, Martina: A unified approach to the performance analysis of caching systems,
  // 2016). Not while the table is written to, as an update brings up all that it writes, nor
  // where a row may have to be read from a disk again.
  bool ChoosesAmong(size_t rows) const;
  Status Room(uint64_t rows);
  Status Evict(uint64_t rows);
  void SweepIfStale();  // SweepMarks
  Status ReserveForVictims(uint64_t pairs);
  // Returns how many have gone: at most `most` of the window, none that is locked at `now`.
  Result<uint64_t> EvictFrom(uint64_t first, uint64_t pairs, uint64_t most, uint64_t now);
  Status SaveRows(const WindowSlots& window);  // before they go
  Status EvictAll();                           // with the memory that there is
  // The table below is to do what the GPU has no memory for: no row is there then. `why` where the
  // batch itself is in the GPU's memory. The first time of a table is a warning in the log.
  Status PassDown(const Status& why, const void* batch);
  // Begins to copy them to the host; what was begun before is there when it returns.
  DownRows BringDown(const RowList& list) const;
  Status PutBelow(const DownRows& down) const;
  uint64_t RowsIn(uint64_t bytes) const;  // of the GPU's memory
  void NoteShare();
  void LimitRows(uint64_t bytes);  // to what they may take
  void Shed();

  // hot_table.cu
  Status TellBelow() const;  // of all keys
  // What the GPU has of the page's keys, and of those that have expired below.
  Status PutNewer(std::span<const Key> expired, ScanPage* page) const;
  MissList MissingList() const;
  DistinctMissing distinct_missing() const;

  const std::unique_ptr<LowerTable> below_;
  WorkPool& workers_;
  const HotTableOptions options_;
  mutable HotStats counted_;
  PoolShare share_;
  uint64_t map_bytes_first_;  // that its map takes for the first rows
  uint64_t rows_limit_ = 0;
  uint64_t tick_ = 1;
  uint64_t rows_most_ = 0;         // on the GPU, at most
  bool rows_are_counted_ = false;  // there are just so many, until the next Room
  mutable uint64_t copies_ = 0;    // of rows that the table below knows, on the GPU
  uint64_t hand_ = 0;              // the pair where the next search for victims begins
  uint64_t gone_since_sweep_ = 0;  // rows
  uint64_t pairs_swept_ = 0;       // that there were then
  uint64_t rows_gone_ = 0;         // so far
  bool rows_have_gone_ = false;    // to make room, since the map was empty
  uint32_t pushes_gone_ = 0;       // kLeastPushed: the frequency of those that went last
  bool passed_down_ = false;       // what is left of the operation is the table below's

  std::array<std::unique_ptr<ChunkSlot>, kChunkSlots> slots_;
  std::array<std::unique_ptr<SideThread>, kFillers> fillers_;  // none yet: all chunks were alone
  mutable SharedMutex below_mutex_;  // rows go down while others are gathered
  mutable std::vector<Key> down_keys_;
  mutable std::vector<RowCounters> down_counters_;
  mutable std::vector<uint8_t> down_known_;
  DeviceBuffer places_;  // of a lookup's keys that were only found
  DeviceBuffer missing_positions_;
  DeviceBuffer missing_keys_;
  DeviceBuffer distinct_keys_;  // of the missing ones
  DeviceBuffer distinct_numbers_;
  DeviceBuffer distinct_rows_;
  DeviceBuffer expired_;  // numbers of distinct keys
  DeviceBuffer victim_slots_;
  DeviceBuffer victim_ranks_;
  DeviceBuffer victim_scratch_;
  uint64_t victim_pairs_ = 0;      // that there is memory for
  struct Told;                     // what the GPU counted
  Told* told() const;              // on its way down
  std::shared_ptr<float[]> told_;  // its memory
  // Keys that came down from the GPU.
  struct KeysDown {
    Key* data() const { return reinterpret_cast<Key*>(memory.get()); }
    void Reserve(PinnedPool& host, size_t keys) {
      if (most >= keys) return;
      memory = host.Take(keys * sizeof(Key) / sizeof(float));
      most = keys;
    }
    std::shared_ptr<float[]> memory;
    size_t most = 0;
  };
  KeysDown wanted_;                // of the operation
  KeysDown hinted_;                // of hint_
  std::unique_ptr<Reading> hint_;  // that was begun
  DeviceBuffer hint_misses_;
  uint64_t hints_finished_ = 0;
  mutable bool hint_is_unsettled_ = false;  // of these, the last one
  void* first_keys_here_ = nullptr;         // cudaEvent_t
  void* all_keys_here_ = nullptr;
  void* counted_here_ = nullptr;  // what a search has counted
  void* hint_counted_ = nullptr;  // HintRows of the last one that is finished
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
