// MapTable: the model of a table, on std::map. Plain and obviously right, and slow: the oracle that
// other implementations are compared with, bit by bit.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "storage/memory/local_table.h"

namespace strata {

// Not thread-safe.
class MapTable : public LocalTable {
 public:
  explicit MapTable(const TableSpec& spec) : spec_(spec) {}

  const TableSpec& spec() const override { return spec_; }
  Status Lookup(std::span<const Key> keys, std::span<float> out) override;
  Status PrepareUpdate(std::span<const GradientPart> parts) override;
  void CommitUpdate(uint64_t step) override;
  Status PrepareAssign(std::span<const Key> keys, std::span<const float> values) override;
  void CommitAssign() override;
  Status PrepareErase(std::span<const Key> keys) override;
  uint64_t CommitErase() override;
  Status Scan(ScanPage& page) const override;  // in the order of keys; the cursor is the next key
  TableStats Stats() const override;

 private:
  struct Row {
    std::vector<float> elements;  // value, then optimizer state
    RowCounters counters;
  };

  void MarkForSnapshot(uint32_t held) override;  // copies what the snapshot holds
  Status TakeForSnapshot(ScanPage& page) override;
  void UnmarkForSnapshot() override { snapshot_.clear(); }
  Status LoadRows(const ScanPage& page) override;
  Row NewRow(Key key) const;
  // Each element to one that the table's types have; round(type, element, value).
  template <typename Round>
  void RoundRow(Row& row, const Round& round) const;
  void RoundToNearest(Row& row) const;

  const TableSpec spec_;
  std::map<Key, Row> rows_;
  std::map<Key, Row> snapshot_;  // what no page has brought yet
  TableStats stats_;
  std::vector<GradientPart> prepared_update_;
  GradientPart prepared_assign_;
  std::span<const Key> prepared_erase_;
};

// A TableStore of MapTables. `clock` judges deadlines and outlives it.
std::unique_ptr<TableStore> MakeMapStore(const Clock& clock = RealClock());

}  // namespace strata
