// The log as a lane writes it: Log over the segments of a folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/thread/mutex.h"
#include "storage/log/log.h"
#include "storage/log/old_segments.h"
#include "storage/log/spare_segment.h"
#include "strata/status.h"

namespace strata {

class LogWriter : public WriteAheadLog {
 public:
  LogWriter(const LogOptions& options, Lsn last);

  // OpenLog's work.
  Status Open();

  Result<Lsn> Append(RecordKind kind, std::span<const std::span<const std::byte>> body) override;
  bool Fits(size_t body_bytes) const override;
  Status Write() override;
  Status Sync() override;
  std::function<Status()> TakeBelow(Lsn lsn) override;
  Status LookForRoom() override;

  Lsn appended() const override { return appended_; }
  Lsn written() const override { return written_.load(); }
  Lsn synced() const override { return synced_.load(); }
  size_t buffered() const override { return buffer_.size(); }
  uint64_t bytes_on_disk() const override { return used_.load() + spare_.bytes() + small_.bytes(); }

 private:
  // A segment that no more is appended to, until it has been synced.
  struct Retired {
    std::shared_ptr<File> file;
    std::string path;
  };

  // A log that begins its life needs a whole segment; one that has served does with less.
  bool WasServed() const { return appended_ > 0 || options_.made; }
  Status Begin();
  Result<SpareSegment*> PrepareFirst();
  Status PrepareNext();
  Status PrepareFor(uint64_t record_bytes);
  Result<Lsn> TryAppend(RecordKind kind, std::span<const std::span<const std::byte>> body);
  Status MakeRoom(RecordKind kind, uint64_t record_bytes);
  Status BeginSegment(SpareSegment& spare);
  Status SyncFiles(const std::vector<Retired>& retired, File* current, bool folder);
  Status WriteBuffer();
  Status failed() const;
  Status Fail(const Status& error);

  const LogOptions options_;

  // The lane's thread alone.
  std::vector<std::byte> buffer_;
  OldSegments old_;
  Lsn first_ = 0;          // of the current segment
  uint64_t offset_ = 0;    // in it, of the next record
  uint64_t capacity_ = 0;  // of it
  Lsn appended_ = 0;
  bool adopted_ = false;        // what was there is on stable storage
  bool begun_ = false;          // there is a current segment
  bool no_room_ = false;        // as LookForRoom tells
  uint64_t refused_bytes_ = 0;  // of the last record that found no room

  std::atomic<Lsn> written_;
  std::atomic<Lsn> synced_ = 0;
  std::atomic<uint64_t> used_ = 0;  // bytes of the segments, the current one at its capacity
  SpareSegment spare_;
  SpareSegment small_;  // for a cut, when there is no room for a whole one

  Mutex sync_mutex_;  // held by Sync: one at a time

  mutable Mutex mutex_;
  // Changed by the lane's thread alone, with mutex_ held; that thread reads it without.
  std::shared_ptr<File> current_;
  std::vector<Retired> retired_ STRATA_GUARDED_BY(mutex_);
  bool folder_changed_ STRATA_GUARDED_BY(mutex_) = false;
  Status failed_ STRATA_GUARDED_BY(mutex_);  // the first failed write or sync; final
};

}  // namespace strata
