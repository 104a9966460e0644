#include "storage/rocks/room_watch.h"

namespace strata {

bool IsNoRoom(const rocksdb::Status& status) {
  return status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit;
}

Status RoomWatch::Stopped() const {
  const MutexLock lock(mutex_);
  return stopped_.empty() ? Status() : DiskFull(stopped_);
}

bool RoomWatch::merge_failed() const {
  const MutexLock lock(mutex_);
  return merge_failed_;
}

void RoomWatch::OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) {
  if (!IsNoRoom(*error)) return;
  const bool merge = reason == rocksdb::BackgroundErrorReason::kCompaction;
  const MutexLock lock(mutex_);
  if (merge) merge_failed_ = true;
  if (merge || error->subcode() == rocksdb::Status::kSpaceLimit) {
    *error = rocksdb::Status::OK();
  } else {
    stopped_ = error->ToString();
  }
}

void RoomWatch::OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) {
  if (!info.new_bg_error.ok()) return;
  const MutexLock lock(mutex_);
  stopped_.clear();
}

void RoomWatch::OnErrorRecoveryCompleted(rocksdb::Status old_error) {
  old_error.PermitUncheckedError();
  const MutexLock lock(mutex_);
  stopped_.clear();
}

void RoomWatch::OnCompactionCompleted(rocksdb::DB* /*db*/, const rocksdb::CompactionJobInfo& info) {
  if (!info.status.ok()) return;
  const MutexLock lock(mutex_);
  merge_failed_ = false;
}

}  // namespace strata
