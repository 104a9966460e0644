// CheckpointedTable: the half of a table that checkpoints need: snapshots of its rows, what was
// erased, and rows that are loaded. What all tables do alike is done here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/memory/cut_history.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe.
//
// A row carries the epoch that was in force when it was last written
// (RowCounters::checkpoint_epoch). The epoch is the number of the last cut, 0 before the first, and
// never falls.
class CheckpointedTable {
 public:
  virtual ~CheckpointedTable() = default;
  virtual const TableSpec& spec() const = 0;

  virtual void SetEpoch(uint32_t epoch) { history_.SetEpoch(epoch); }
  // Begins a snapshot: the rows as they are now, whatever is written to the table until it ends.
  // With `since` 0 all of them; with the cut of an earlier durable checkpoint those whose epoch is
  // `since` or higher: written behind that cut. Rows whose time is up (TierPolicy::ttl_steps) are
  // in neither. Returns what it holds: `since`, or 0 when that cannot be told (the table is younger
  // than `since`, more keys were erased than it remembers, or the time of some row may have run out
  // since) and it holds all rows. SetEpoch with a higher epoch, the number of this cut, comes
  // before the next write. One snapshot at a time: an earlier one ends.
  virtual uint32_t BeginSnapshot(uint32_t since);
  // The next rows of the snapshot, with state and counters: each exactly once, in no promised
  // order. `page.rows_max` is a wish, and a page may be empty. Rows that were copied aside before a
  // write come first: their memory stays small as long as pages take as many rows as writes change.
  // Sets page.done with the last; cursor and with_state mean nothing here. After an error the
  // snapshot is of no use: end it.
  virtual Status SnapshotPage(ScanPage& page);
  // Keys that were erased between the cut `since` and this snapshot's cut, in no order, repeats
  // allowed. Some may be among the snapshot's rows again, some may never have been in the
  // checkpoint `since`: whoever loads erases these first, then puts the rows in. Empty when the
  // snapshot holds all rows.
  virtual std::vector<Key> SnapshotErased() const { return history_.SnapshotErased(); }
  void EndSnapshot();
  bool in_snapshot() const { return history_.in_snapshot(); }
  // The checkpoint with cut `epoch` is durable, and holds this table: its snapshot was taken at
  // that cut, or the table was loaded from it with that epoch in force. From now on BeginSnapshot
  // can tell what changed since; keys erased before need not be remembered. Without effect on a
  // table that is younger than that cut.
  virtual void ForgetErased(uint32_t epoch) { history_.ForgetErased(epoch); }
  // A hint: about `count` new rows are loaded soon. A table makes room for them at once.
  virtual void ExpectRows(uint64_t /*count*/) {}
  // Rows with state and counters as a snapshot gave them; existing ones are replaced. An epoch
  // above the one in force becomes that one: SetEpoch first. Not during a snapshot. kRefused when
  // they do not fit the byte budget (some are in then), kInvalid when the page's sizes do not fit
  // the table.
  Status Load(const ScanPage& page);

 protected:
  // What a table does itself. A snapshot has begun, and is to hold the rows that are there now and
  // whose epoch is `held` or higher.
  virtual void MarkForSnapshot(uint32_t held) = 0;
  // Appends rows to the page, of those that were not copied aside. Sets page.done with the last.
  virtual Status TakeForSnapshot(ScanPage& page) = 0;
  // The snapshot has ended, with all its rows taken or not.
  virtual void UnmarkForSnapshot() = 0;
  // Load, of a page whose sizes fit.
  virtual Status LoadRows(const ScanPage& page) = 0;

  // Those of row i of a page that is loaded.
  RowCounters LoadedCounters(const ScanPage& page, size_t i) const {
    RowCounters counters = page.counters[i];
    counters.checkpoint_epoch = std::min(counters.checkpoint_epoch, history_.epoch());
    return counters;
  }
  // Where a row of the snapshot is to be appended that is about to be written or erased.
  ScanPage& PageAside();
  // The same for a page of such rows.
  void KeepAside(ScanPage page);
  // Memory for rows that were copied aside and for keys that were erased.
  uint64_t history_bytes() const;

  CutHistory history_;

 private:
  std::vector<ScanPage> aside_;  // as SnapshotPage hands them out
};

}  // namespace strata
