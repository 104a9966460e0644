// HostTable: a table in the memory of this process. An index of 16 to 20 bytes a row (RowIndex),
// rows in slabs (RowSlabs), memory read ahead in two stages, growth a little at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/memory/combine.h"
#include "storage/memory/lower_table.h"
#include "storage/memory/memory_budget.h"
#include "storage/memory/row_index.h"
#include "storage/memory/row_slabs.h"
#include "storage/row_elements.h"

namespace strata {

// Not thread-safe: it belongs to one lane, or to a store that locks it. What each call does is
// written at LocalTable; a scan goes by row number, and its cursor is the next number.
class HostTable : public LowerTable {
 public:
  // `spec` has passed ValidateTableSpec. `budget` may be null, and outlives the table. `order`: of
  // the rows in memory; by home for who reads and writes most of them in the order of home_seed().
  // `threads` help with lookups and updates, and outlive the table; null: the calling thread works
  // alone.
  explicit HostTable(const TableSpec& spec, MemoryBudget* budget = nullptr,
                     RowOrder order = RowOrder::kAsTheyCome, WorkPool* threads = nullptr);

  const TableSpec& spec() const override { return spec_; }
  Status Lookup(std::span<const Key> keys, std::span<float> out) override;
  Status PrepareUpdate(std::span<const GradientPart> parts) override;
  void CommitUpdate(uint64_t step) override;
  Status PrepareAssign(std::span<const Key> keys, std::span<const float> values) override;
  void CommitAssign() override;
  Status PrepareErase(std::span<const Key> keys) override;
  uint64_t CommitErase() override;
  Status Scan(ScanPage& page) const override;
  TableStats Stats() const override;
  std::array<TierUse, kTiers> Tiers() const override;

  // The index alone, whose growth would cost more than the rows' own; that there is no room for it
  // is found by Load.
  void ExpectRows(uint64_t count) override { static_cast<void>(index_.Reserve(count)); }

  Status ReadRows(std::span<const Key> keys, const ReadOptions& options, WorkPool& pool,
                  const RowVisit& visit) override;
  bool ReadsBesideItsThread() const override { return true; }
  bool IsInMemory() const override { return true; }
  uint64_t home_seed() const override { return rows_.hash().seed; }
  Status WriteRows(const RowsDown& down, WorkPool& pool) override;

  // Index words that growth has moved or passed so far; tests bound the work of a batch with it.
  uint64_t index_words_swept() const { return index_.words_swept(); }

 private:
  struct Target {
    const float* gradient;  // null: it is not finite
    uint64_t row;           // kNoRow: to be made
    uint32_t key;           // position among the combiner's keys
    uint32_t parts;         // that brought it
    bool is_new;            // CommitUpdate has made it
  };

  // A snapshot goes by row number too. A row that it has still to reach is copied aside before its
  // first write or erase. The copies are not counted in the budget, since a write that has been
  // prepared cannot be refused; Stats().bytes holds them.
  void MarkForSnapshot(uint32_t held) override;
  Status TakeForSnapshot(ScanPage& page) override;
  void UnmarkForSnapshot() override;
  Status LoadRows(const ScanPage& page) override;
  // The rows of these keys, to load_rows_, and room for those that are missing.
  Status FindOrReserve(std::span<const Key> keys);
  // Room for `count` rows more, in slabs and index.
  Status Reserve(uint64_t count);
  uint64_t AddRow(Key key);  // without elements and counters
  // Called before a row is written or erased.
  void KeepForSnapshot(uint64_t row) {
    if (row < snapshot_end_ && row >= snapshot_next_) CopyAside(row);
  }
  bool IsInSnapshot(uint64_t row) const;
  void CopyAside(uint64_t row);
  // The rows `begin` to `end` - 1, of one slab, as the page's number `at` and following.
  void CopyRun(uint64_t begin, uint64_t end, ScanPage& page, size_t at) const;

  const TableSpec spec_;
  const RowSchema schema_;
  WorkPool* const threads_;
  RowSlabs rows_;
  RowIndex index_;
  TableStats stats_;
  uint64_t snapshot_next_ = 0;  // rows below have been visited
  uint64_t snapshot_end_ = 0;   // row numbers at the cut; 0: no snapshot

  // Between Prepare and Commit.
  GradientCombiner combiner_;
  std::vector<Target> targets_;  // update: the rows whose gradient is finite
  RowUpdates updates_;
  uint64_t rejected_ = 0;
  uint64_t missing_ = 0;  // rows that the targets are without
  std::span<const Key> assign_keys_;
  std::span<const float> assign_values_;
  std::span<const Key> erase_keys_;
  std::atomic<uint64_t> read_hits_{0};  // of ReadRows, on any thread
  std::vector<uint64_t> load_rows_;     // of keys that are loaded or come down
};

}  // namespace strata
