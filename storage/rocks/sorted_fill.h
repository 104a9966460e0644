// SortedFill: rows that come by rising key, written to files that join the database whole. They
// pass no write buffer and no compaction touches them: a fill costs what writing its bytes once
// does. Only for storage/rocks: it includes RocksDB.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/sst_file_writer.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/thread/mutex.h"

namespace strata {

// What such a file is called until it joins; one that a dead process left is removed when the
// database is opened.
inline constexpr char kFillPrefix[] = "fill-";

// Not thread-safe. The database sees nothing of a file before it is full, or Finish.
class SortedFill {
 public:
  // `path` is on the database's file system. Who writes to the database holds `writers` shared. All
  // references outlive the fill.
  SortedFill(rocksdb::DB& db, const rocksdb::Options& options, SharedMutex& writers,
             std::string path);
  // What did not join is gone.
  ~SortedFill();

  // `key` lies above all keys of the fill and, with those that follow, between no two keys of the
  // database. After an error there is no going on.
  rocksdb::Status Add(const rocksdb::Slice& key, const rocksdb::Slice& row);
  // All that was added is in the database then.
  rocksdb::Status Finish();
  uint64_t open_bytes() const { return writer_ == nullptr ? 0 : writer_->FileSize(); }

 private:
  rocksdb::DB& db_;
  const rocksdb::Options& options_;
  SharedMutex& writers_;
  const std::string path_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
};

}  // namespace strata
