#include "storage/rocks/sorted_fill.h"

#include <rocksdb/env.h>

#include <utility>

#include "base/file/disk.h"
#include "base/thread/mutex.h"

namespace strata {

SortedFill::SortedFill(rocksdb::DB& db, const rocksdb::Options& options, SharedMutex& writers,
                       std::string path)
    : db_(db), options_(options), writers_(writers), path_(std::move(path)) {}

SortedFill::~SortedFill() {
  if (writer_ == nullptr) return;
  writer_.reset();
  static_cast<void>(RealDisk().Remove(path_).ok());  // or the next Open does
}

rocksdb::Status SortedFill::Add(const rocksdb::Slice& key, const rocksdb::Slice& row) {
  if (writer_ == nullptr) {
    rocksdb::EnvOptions files(options_);
    files.use_direct_writes = options_.use_direct_io_for_flush_and_compaction;
    writer_ = std::make_unique<rocksdb::SstFileWriter>(files, options_);
    if (auto opened = writer_->Open(path_); !opened.ok()) return opened;
  }
  if (auto added = writer_->Put(key, row); !added.ok()) return added;
  return writer_->FileSize() < options_.target_file_size_base ? rocksdb::Status::OK() : Finish();
}

rocksdb::Status SortedFill::Finish() {
  if (writer_ == nullptr) return rocksdb::Status::OK();
  if (auto finished = writer_->Finish(); !finished.ok()) return finished;
  // A file that joins under a snapshot takes the next sequence number. Were it one between those of
  // a write buffer, RocksDB before 7.10 would find its youngest files out of order and stop.
  const WriterLock lock(writers_);
  if (auto flushed = db_.Flush(rocksdb::FlushOptions()); !flushed.ok()) return flushed;
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.write_global_seqno = false;  // no byte of the file changes any more
  if (auto joined = db_.IngestExternalFile({path_}, options); !joined.ok()) return joined;
  writer_.reset();
  return rocksdb::Status::OK();
}

}  // namespace strata
