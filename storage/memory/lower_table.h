// LowerTable: a table that can stand below a faster one (HotTable), which holds copies of some of
// its rows, newer versions of others, and rows that it has not heard of yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "storage/memory/local_table.h"

namespace strata {

// Row i of what was asked for. May run on several threads at the same time.
using RowVisit = std::function<void(size_t i, const RowView& row)>;

enum class ReadFrom : uint8_t {
  kAll,
  kMemory,  // what lies on disk is passed over
};

struct ReadOptions {
  ReadFrom from = ReadFrom::kAll;
  bool counters = true;  // false: the visit looks at elements alone, so counters are not fetched
};

// Rows on their way down, with distinct keys.
struct RowsDown {
  std::span<const Key> keys;
  std::span<const float> rows;  // as they are stored: x stored_words() of their schema
  std::span<const RowCounters> counters;
  std::span<const uint8_t> known;  // 1: ReadRows has told of the key's row; 0: it is new here
};

// Which keys get a row, for a table above that makes the rows. `pushes[i]`: how many parts of an
// update bring keys[i], which has no row.
class Admission {
 public:
  virtual ~Admission() = default;
  // admitted[i] is 1 if keys[i] gets one, else 0.
  virtual void Admit(std::span<const Key> keys, std::span<const uint32_t> pushes,
                     std::span<uint8_t> admitted) const = 0;
  // Those that got none have been pushed.
  virtual void CountPushes(std::span<const Key> keys, std::span<const uint32_t> pushes) = 0;
};

// What LocalTable says holds.
class LowerTable : public LocalTable {
 public:
  // Visits those of the distinct `keys` that have a row, expired ones too, and changes nothing;
  // threads of the pool take part. Several threads may read at the same time. An error as Lookup's.
  virtual Status ReadRows(std::span<const Key> keys, const ReadOptions& options, WorkPool& pool,
                          const RowVisit& visit) = 0;
  // Whether ReadRows may go on, on another thread, while the table's own one asks for Stats or is
  // at rest.
  virtual bool ReadsBesideItsThread() const { return false; }
  // Whether all rows lie in memory always, so that one that is read again and again costs no disk.
  virtual bool IsInMemory() const { return false; }
  // Keys that are asked for in the order of their SeededMix with this go through the table's memory
  // from front to back.
  virtual uint64_t home_seed() const = 0;
  // Whole rows, which replace those that are there; their epochs are not above the one in force.
  // Allowed during a snapshot, whose rows stay what they were at its cut. Threads of the pool take
  // part. All or nothing: kRefused as PrepareUpdate.
  virtual Status WriteRows(const RowsDown& down, WorkPool& pool) = 0;

  // As long as the table; null: keys get a row with their first push.
  virtual Admission* admission() { return nullptr; }

  // Rows that expire (TierPolicy::ttl_steps). The table above may have newer versions of those that
  // have expired here. So from the first ReadRows or WriteRows on it decides which of them go:
  // until then they lie here as others do, and nobody but that table sees them.
  virtual bool RowsExpire() const { return false; }
  // Rows that were pushed last before this step, if at all, have expired.
  virtual uint64_t AliveFrom() const { return 0; }
  // An update was applied above: time goes on.
  virtual void Stepped(uint64_t /*step*/) {}
  // Keys of expired rows that were in the way here, repeats allowed; and the answer, those of them
  // whose row the table above has not got. They go if they have not been written to since.
  virtual std::vector<Key> TakeExpired() { return {}; }
  virtual void DropExpired(std::span<const Key> /*keys*/) {}
  // As Scan, and `expired` becomes the keys of the expired rows between the page's rows: of both
  // together there are at most page.rows_max.
  virtual Status ScanWithExpired(ScanPage& page, std::vector<Key>* expired) const {
    expired->clear();
    return Scan(page);
  }
};

}  // namespace strata
