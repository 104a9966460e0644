// CutHistory: what a table knows of checkpoints besides its rows: the epoch in force, and the keys
// that were erased since the last durable checkpoint, which an incremental one has to name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/row_schema.h"

namespace strata {

// Not thread-safe. What the calls mean is written at LocalTable.
class CutHistory {
 public:
  // Keys remembered: a quarter of the rows, or this many where that is more.
  static constexpr uint64_t kErasedMin = 4096;

  uint32_t epoch() const { return epoch_; }
  void SetEpoch(uint32_t epoch);

  // A row of a table that now has `rows` rows is gone. With too many, all are forgotten, and the
  // next snapshot is a full one.
  void Erased(Key key, uint64_t rows);
  // Rows may be gone whose keys nobody names: the next snapshot is a full one.
  void ErasedUnnamed();

  // What LocalTable::BeginSnapshot returns.
  uint32_t BeginSnapshot(uint32_t since);
  std::vector<Key> SnapshotErased() const;
  void EndSnapshot();
  bool in_snapshot() const { return snapshot_epoch_.has_value(); }
  // Of the rows that were there at the cut: written last in `snapshot_since()` or later, at most in
  // `snapshot_epoch()`. Only during a snapshot.
  uint32_t snapshot_epoch() const { return *snapshot_epoch_; }
  uint32_t snapshot_since() const { return snapshot_since_; }

  // The rows are those of the checkpoint whose cut is the epoch in force.
  void Loaded();
  void ForgetErased(uint32_t epoch);

  uint64_t bytes() const { return erased_ * sizeof(Key); }

 private:
  // Keys erased while `epoch` was in force. A snapshot shares those of before its cut, which do not
  // change any more.
  struct Generation {
    uint32_t epoch = 0;
    std::shared_ptr<std::vector<Key>> keys;
  };

  uint32_t epoch_ = 0;
  std::vector<Generation> generations_;     // ascending epochs
  uint64_t erased_ = 0;                     // keys in them
  std::optional<uint32_t> lost_;            // keys erased in this epoch or before were forgotten
  std::optional<uint32_t> base_;            // durable: all keys erased since are in generations_
  std::optional<uint32_t> candidate_;       // the last cut that this table took part in
  std::optional<uint32_t> snapshot_epoch_;  // the epoch that ended with its cut
  uint32_t snapshot_since_ = 0;
  std::vector<Generation> snapshot_erased_;
};

}  // namespace strata
