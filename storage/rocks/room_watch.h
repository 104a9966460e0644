// What RocksDB says about a disk without room. Only for storage/rocks: it includes RocksDB.
#pragma once

#include <rocksdb/listener.h>

#include <string>

#include "base/thread/mutex.h"
#include "strata/status.h"

namespace strata {

// Thread-safe. RocksDB stops all writes once a flush has met a full disk, and looks every five
// seconds whether it can go on; DB::Resume, which would hurry it, may wait for ever when the disk
// is full again. A merge of files that finds no room must not stop anything: the files are there as
// they were, and it is tried again.
class RoomWatch : public rocksdb::EventListener {
 public:
  // kDiskFull from when writes were stopped until RocksDB goes on; its text says why.
  Status Stopped() const;
  // The last merge of files found no room.
  bool merge_failed() const;

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override;
  void OnErrorRecoveryCompleted(rocksdb::Status old_error) override;
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;

 private:
  mutable Mutex mutex_;
  std::string stopped_ STRATA_GUARDED_BY(mutex_);  // "": no
  bool merge_failed_ STRATA_GUARDED_BY(mutex_) = false;
};

bool IsNoRoom(const rocksdb::Status& status);

}  // namespace strata
