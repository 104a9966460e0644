// LowerRows: rows of the table below a hot table, which are read while others are written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/mutex.h"
#include "base/thread/work_pool.h"
#include "storage/memory/lower_table.h"
#include "strata/gpu/map_ref.h"

namespace strata {

// The table and the pool outlive it.
class LowerRows {
 public:
  LowerRows(LowerTable& table, WorkPool& workers) : table_(table), workers_(workers) {}

  // As LowerTable::ReadRows. Any thread; waits while rows are written.
  Status Read(std::span<const Key> keys, const ReadOptions& options, const RowVisit& visit);
  // As LowerTable::WriteRows, of rows as they are stored on a GPU. The table's thread alone.
  Status Write(std::span<const SlotHeader> headers, std::span<const float> rows);

  // What Write has written so far. The bytes are those of rows with their headers.
  uint64_t rows_written() const { return rows_written_; }
  uint64_t bytes_written() const { return bytes_written_; }

 private:
  LowerTable& table_;
  WorkPool& workers_;
  SharedMutex mutex_;
  uint64_t rows_written_ = 0;
  uint64_t bytes_written_ = 0;
  // Of a Write.
  std::vector<Key> keys_;
  std::vector<RowCounters> counters_;
  std::vector<uint8_t> known_;
};

}  // namespace strata
