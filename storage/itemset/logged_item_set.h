// LoggedItemSet: a collection whose changes are in a log before they are made, so that a process
// that was killed comes back with those that it had acknowledged.
//
//   Apply(changes) ... several, each of which searches see when it returns
//   Write()            they survive kill -9 now: acknowledge those of ack level `logged`
//   Sync()             and a loss of power: those of level `synced`
//
// The log is all there is: a start reads it from its beginning.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "base/status.h"
#include "proto/format/item_change.h"
#include "storage/itemset/item_set.h"
#include "storage/log/log.h"

namespace strata {

// One thread makes changes and calls Write; `set` is for any, to search. Another one may Sync.
class LoggedItemSet {
 public:
  // Replays the log in options.folder, which may be empty. kCorrupt names the record that is none;
  // kInvalid: a record's document does not fit `spec` (the log is of another collection).
  static Result<std::unique_ptr<LoggedItemSet>> Open(const LogOptions& log,
                                                     const ItemSetOptions& options);

  // All of the changes, in order, as one record: after a crash all or none of them are there. What
  // is refused changes nothing: kInvalid (as ItemSet::Check; no changes at all), kDiskFull. Any
  // other error is final.
  Result<Lsn> Apply(std::span<const format::ItemChange> changes);
  Status Write() { return log_->Write(); }
  Status Sync() { return log_->Sync(); }

  const ItemSet& set() const { return *set_; }
  const WriteAheadLog& log() const { return *log_; }
  const ReplaySummary& replayed() const { return replayed_; }

 private:
  static Status Make(ItemSet& set, const format::ItemChange& change);

  std::unique_ptr<ItemSet> set_;
  std::unique_ptr<WriteAheadLog> log_;
  ReplaySummary replayed_;
};

}  // namespace strata
