// WarmRows: the rows of a tiered table that are in memory, the host table's slabs and index with a
// few bits for each row, and the search for those that may go down.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/memory/row_index.h"
#include "storage/memory/row_slabs.h"
#include "storage/rocks/cold_rows.h"
#include "storage/tiered/policy.h"

namespace strata {

// What is known of a row in memory. Without kDirty the cold tier holds the same bytes, and the row
// may be dropped; with it memory alone has them.
enum RowFlag : uint8_t {
  kDirty = 1,
  kColdCopy = 2,  // the cold tier has the key, perhaps with older bytes
  kWriting = 4,   // a copy is on its way down; kDirty again if it was written to meanwhile
  kDue = 8,       // the snapshot in progress still has to take it from memory
};

// Not thread-safe.
class WarmRows {
 public:
  WarmRows(const RowSchema& schema, MemoryBudget* budget);
  ~WarmRows();

  // How many rows may be in memory: what fits into `bytes` with index and flags; at least one.
  static uint64_t RowsIn(const RowSchema& schema, uint64_t bytes);

  uint64_t Find(Key key) const { return store_->index.Find(key); }
  // As RowIndex::VisitRows.
  template <bool Sparing = false, typename Visit>
  void VisitRows(std::span<const Key> keys, size_t bytes, Visit&& visit) const {
    store_->index.template VisitRows<Sparing>(keys, bytes, visit);
  }
  // As RowIndex::FindRows and RowSlabs::Write.
  template <typename Found>
  uint64_t FindRows(std::span<const Key> keys, WorkPool& pool, std::vector<uint64_t>* rows,
                    const Found& found) const {
    return store_->index.FindRows(keys, pool, rows, found);
  }
  void Write(std::span<const uint64_t> rows, std::span<const float> stored,
             std::span<const RowCounters> counters, WorkPool& pool) {
    store_->rows.Write(rows, stored, counters, pool);
  }
  // kRefused when the budget has no memory for `count` rows more than there are.
  Status Reserve(uint64_t count);
  uint64_t Add(Key key, uint32_t tick, uint8_t flags);  // its bytes are the caller's to fill
  void Remove(uint64_t row);
  // Gives all memory back; there are no rows.
  void Clear();

  Key KeyOf(uint64_t row) const { return store_->rows.KeyOf(row); }
  SeededHash hash() const { return hash_; }  // of keys, as long as the table
  float* Elements(uint64_t row) { return store_->rows.Elements(row); }
  const RowCounters& Counters(uint64_t row) const { return *store_->rows.Counters(row); }
  RowCounters& Counters(uint64_t row) { return *store_->rows.Counters(row); }
  RowView View(uint64_t row) const {
    return {store_->rows.Elements(row), store_->rows.Counters(row)};
  }
  // The row in one piece, as the cold tier has it.
  void CopyTo(uint64_t row, std::byte* bytes) const;
  void CopyFrom(const std::byte* bytes, uint64_t row);
  uint8_t& flags(uint64_t row) { return flags_[row]; }
  uint8_t flags(uint64_t row) const { return flags_[row]; }
  void Touch(uint64_t row, uint32_t tick) { ticks_[row] = tick; }
  uint32_t tick(uint64_t row) const { return ticks_[row]; }

  bool IsLive(uint64_t row) const { return store_->rows.IsLive(row); }
  uint64_t numbers() const { return store_->rows.numbers(); }
  uint64_t rows() const { return store_->rows.rows(); }
  uint64_t bytes() const;
  uint64_t bytes_min() const;  // with one row

  // Up to `count` rows with low scores among a sample several times as large, that were not touched
  // for `age_min` operations and carry none of `flags_out`. Looks at `visits_max` rows; successive
  // calls go on where the last one stopped.
  struct Victims {
    std::vector<uint64_t> rows;
    double score_max = 0.0;  // the highest of theirs
  };
  const Victims& FindVictims(const TierPolicy& policy, uint64_t count, uint32_t tick,
                             uint32_t age_min, uint8_t flags_out, uint64_t visits_max);

 private:
  struct Store {
    Store(const RowSchema& schema, MemoryBudget* budget, SeededHash hash)
        : rows(schema, budget, RowOrder::kAsTheyCome, hash), index(rows, budget) {}
    RowSlabs rows;
    RowIndex index;
  };
  struct Candidate {
    double score;
    uint64_t row;
  };

  const RowSchema schema_;
  MemoryBudget* const budget_;
  const SeededHash hash_;
  std::unique_ptr<Store> store_;
  std::vector<uint32_t> ticks_;  // by row: the operation that touched it last
  std::vector<uint8_t> flags_;
  uint64_t flags_bytes_ = 0;  // taken from the budget for both
  uint64_t hand_ = 0;         // where the next sample begins
  std::vector<Candidate> candidates_;
  Victims victims_;
};

}  // namespace strata
