// LoggedItemSet: a collection whose changes are in a log before they are made, so that a process
// that was killed comes back with those that it had acknowledged.
//
//   Apply(changes) ... several, each of which searches see when it returns
//   Write()            they survive kill -9 now: acknowledge those of ack level `logged`
//   Sync()             and a loss of power: those of level `synced`
//
// With images (ItemImages) segments of the last level are saved beside the changes, by a thread of
// their own, and what of the log only made these goes. A start loads the images, and replays the
// log from the oldest change that may be in none of them. Without images the log is all there is: a
// start reads it from its beginning.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/thread/mutex.h"
#include "base/thread/side_thread.h"
#include "proto/format/item_change.h"
#include "storage/itemset/image_store.h"
#include "storage/itemset/item_set.h"
#include "storage/log/log.h"
#include "storage/rocks/record_store.h"
#include "strata/status.h"

namespace strata {

struct ItemImages {
  RecordStoreOpener open;  // RocksRecords(folder); null: there are no images
  // When the log takes more, all that it has is saved and it is trimmed to its last segment. Below
  // that it is trimmed when segments of the last level are made.
  uint64_t log_bytes_max = uint64_t{512} << 20;
};

struct ImageStats {
  uint64_t saves = 0;  // since the start
  uint64_t failures = 0;
  std::string error;  // of the last save; empty: it succeeded
  uint64_t images = 0;
  uint64_t image_bytes = 0;
  Lsn from = 1;  // a start would replay the log from here on
};

// One thread makes changes, and calls Write, Save and WaitForSave; `set` is for any, to search, and
// so is Stats. Another one may Sync.
class LoggedItemSet {
 public:
  // Loads the images, and replays the log in options.folder, both of which may be empty. kCorrupt
  // names the image or the record that is none, or says that the log was shortened; kInvalid: a
  // document does not fit `spec` (the log or the images are of another collection); kNotFound: what
  // the log has begins behind what the images have.
  static Result<std::unique_ptr<LoggedItemSet>> Open(const LogOptions& log,
                                                     const ItemSetOptions& options,
                                                     const ItemImages& images = {});
  ~LoggedItemSet();

  // All of the changes, in order, as one record: after a crash all or none of them are there. What
  // is refused changes nothing: kInvalid (as ItemSet::Check; no changes at all), kDiskFull (a later
  // call may succeed: images are saved meanwhile, and the log is trimmed). Any other error is
  // final.
  Result<Lsn> Apply(std::span<const format::ItemChange> changes);
  // Begins to save images, too, when that is due: whether it can is in Stats, and no error of this.
  Status Write();
  Status Sync() { return log_->Sync(); }

  // Everything so far is in images when it returns, and the log trimmed: the next start replays
  // nothing. kInvalid: there are no images; an error of the disk or RocksDB: nothing is lost, and
  // the log has what the images have not.
  Status Save();
  void WaitForSave();  // of one that Write has begun

  const ItemSet& set() const { return *set_; }
  const WriteAheadLog& log() const { return *log_; }
  const ReplaySummary& replayed() const { return replayed_; }
  ImageStats Stats() const;

 private:
  static constexpr Lsn kEverything = UINT64_MAX;

  static Status Make(ItemSet& set, const format::ItemChange& change, Lsn lsn);

  Status Restore(const LogOptions& log, const ItemSetOptions& options, const ItemImages& images);
  bool IsDue() const;
  bool IsLogLarge() const;
  Status BeginSave(Lsn floor);
  void SaveState(const ItemSetState& state, Lsn from, Lsn covered);
  void Note(const Status& saved);
  Lsn saved_from() const;       // ImageStats::from
  bool failed_to_save() const;  // the last time
  void Begin(std::function<void()> task);
  std::function<Status()> TakeSaved();
  void Remove(const std::function<Status()>& remove);
  void TrimSaved();

  std::unique_ptr<ItemSet> set_;
  std::unique_ptr<WriteAheadLog> log_;
  ReplaySummary replayed_;

  // Of the thread that makes changes.
  uint64_t log_bytes_max_ = 0;
  uint64_t appended_bytes_ = 0;    // of records, since the start
  uint64_t begun_at_bytes_ = 0;    // of these, when a save was begun last
  uint64_t emptied_at_bytes_ = 0;  // and one of everything
  uint64_t large_begun_ = 0;       // ItemSet::large_made() when a save was begun last
  bool is_full_ = false;           // a record found no room since
  Lsn trimmed_ = 0;                // the log was trimmed up to here

  std::atomic<bool> is_saving_{false};  // what is of the saving thread then is nobody else's
  std::unique_ptr<ImageStore> images_;  // of the saving thread; null: there are none

  mutable Mutex mutex_;
  ImageStats stats_ STRATA_GUARDED_BY(mutex_);
  Status saved_ STRATA_GUARDED_BY(mutex_);  // the last save

  std::unique_ptr<SideThread> saver_;  // last: it ends before what it uses
};

}  // namespace strata
