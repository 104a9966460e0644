// RocksTable: a table that lies in RocksDB alone. Each update reads its rows, runs the rule and
// writes them: the plain way, beside which the tiered table is measured.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "storage/memory/combine.h"
#include "storage/memory/local_table.h"
#include "storage/rocks/cold_rows.h"
#include "storage/rocks/rocks_db.h"
#include "storage/row_elements.h"

namespace strata {

// Not thread-safe. Memory beyond RocksDB's own: the rows of one batch.
//
// A commit cannot fail but a write can (disk full). Rows that could not be written stay in memory,
// and until they could, updates and assigns are refused with the write's error.
class RocksTable : public LocalTable {
 public:
  // `spec` has passed ValidateTableSpec. `cold` outlives the table.
  RocksTable(const TableSpec& spec, RocksDb& cold);
  ~RocksTable() override;

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

 private:
  // Rows by hash; an empty one is to be erased.
  using Unwritten = std::map<uint64_t, std::vector<std::byte>>;

  void MarkForSnapshot(uint32_t held) override;
  Status TakeForSnapshot(ScanPage& page) override;
  void UnmarkForSnapshot() override;
  Status LoadRows(const ScanPage& page) override;
  std::byte* Row(size_t i) { return rows_.data() + i * row_bytes_; }
  void MakeNew(Key key, std::byte* row) {
    MakeNewRow(spec_, schema_, key, ElementsOf(row), CountersOf(schema_, row));
  }
  // The rows of `keys` to rows_ and found_, the unwritten ones among them.
  Status Read(std::span<const Key> keys);
  Status WriteUnwritten();
  // writes_, now or later.
  void Write();
  // Appends rows to the page from its cursor on.
  Status FillPage(const Unwritten& unwritten, const RocksSnapshot* snapshot, uint32_t epoch_min,
                  bool with_state, ScanPage& page) const;

  const TableSpec spec_;
  const RowSchema schema_;
  const size_t row_bytes_;
  RocksDb& cold_;
  const SpaceId space_;
  TableStats stats_;
  Unwritten unwritten_;
  std::unique_ptr<RocksSnapshot> snapshot_;
  Unwritten snapshot_unwritten_;
  ScanPage snapshot_place_;  // its cursor

  GradientCombiner combiner_;
  std::vector<Key> keys_;  // update: whose gradient is finite; erase: each once
  std::vector<size_t> groups_;
  std::vector<std::byte> rows_;
  std::vector<uint8_t> found_;
  RowUpdates updates_;
  std::vector<ColdWrite> writes_;
  std::span<const Key> assign_keys_;
  std::span<const float> assign_values_;
};

}  // namespace strata
