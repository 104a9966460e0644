// RecordStore over RocksDB.
#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <utility>

#include "base/file/disk.h"
#include "storage/rocks/record_store.h"
#include "storage/rocks/rocks_options.h"

namespace strata {
namespace {

Status FromRocks(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return {};
  const std::string text = fmt::format("{}: {}", folder, status.ToString());
  if (IsNoRoom(status)) return DiskFull(text + "; free space there");
  if (status.IsCorruption() || status.IsPathNotFound()) {
    return Corrupt(text +
                   "; a file of the folder was changed or is gone: bring the folder back "
                   "from a copy");
  }
  return Failed(text);
}

rocksdb::Slice SliceOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

rocksdb::Options Settings() {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  rocksdb::Options result;
  result.create_if_missing = true;
  result.info_log = NoRocksLog();
  result.stats_dump_period_sec = 0;
  result.stats_persist_period_sec = 0;
  result.compression = rocksdb::kNoCompression;
  result.bottommost_compression = rocksdb::kNoCompression;
  result.paranoid_checks = true;
  result.allow_fallocate = false;  // a full disk is met when bytes are written
  result.max_background_jobs = 2;
  result.max_manifest_file_size = 16 * kMiB;
  result.manifest_preallocation_size = 64 << 10;
  // With -1 a store whose records are in one file may be opened to read by a way of RocksDB that
  // finds no blobs (facebook/rocksdb issue 12503).
  result.max_open_files = 256;
  result.write_buffer_size = 64 * kMiB;
  result.max_write_buffer_number = 2;
  result.enable_blob_files = true;
  result.min_blob_size = 64 << 10;
  result.blob_file_size = 1024 * kMiB;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(1 * kMiB);
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return result;
}

class RocksRecordStore : public RecordStore {
 public:
  RocksRecordStore(std::string folder, std::unique_ptr<rocksdb::DB> db)
      : folder_(std::move(folder)), db_(std::move(db)) {}

  const std::string& name() const override { return folder_; }

  Status Put(const std::string& key, std::span<const std::byte> value) override {
    rocksdb::WriteOptions options;
    options.disableWAL = true;  // a commit flushes it: it is written once
    has_put_ = true;
    return FromRocks(db_->Put(options, key, SliceOf(value)), folder_);
  }

  Status Commit(std::span<const RecordChange> changes) override {
    if (has_put_) {
      STRATA_TRY(FromRocks(db_->Flush(rocksdb::FlushOptions()), folder_));
      has_put_ = false;
    }
    rocksdb::WriteBatch batch(0, 0, /*protection_bytes_per_key=*/8, 0);
    for (const RecordChange& change : changes) {
      const auto added =
          change.value ? batch.Put(change.key, *change.value) : batch.Delete(change.key);
      STRATA_TRY(FromRocks(added, folder_));
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    return FromRocks(db_->Write(options, &batch), folder_);
  }

  Result<std::optional<std::string>> Read(const std::string& key) const override {
    std::string value;
    const auto status = db_->Get(rocksdb::ReadOptions(), key, &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    STRATA_TRY(FromRocks(status, folder_).Prefixed(key));
    return std::optional(std::move(value));
  }

 private:
  const std::string folder_;
  const std::unique_ptr<rocksdb::DB> db_;
  bool has_put_ = false;
};

// Where nothing was ever written.
class NoRecords : public RecordStore {
 public:
  explicit NoRecords(std::string folder) : folder_(std::move(folder)) {}
  const std::string& name() const override { return folder_; }
  Status Put(const std::string&, std::span<const std::byte>) override {
    return Internal("a store that is read is written");
  }
  Status Commit(std::span<const RecordChange>) override {
    return Internal("a store that is read is written");
  }
  Result<std::optional<std::string>> Read(const std::string&) const override {
    return std::optional<std::string>();
  }

 private:
  const std::string folder_;
};

// A RocksDB has a file CURRENT from when it was made whole.
Result<bool> IsMade(const std::string& folder) {
  const auto names = RealDisk().List(folder);
  if (names.status().code() == StatusCode::kNotFound) return false;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (name == "CURRENT") return true;
  }
  return false;
}

Result<std::unique_ptr<RecordStore>> Open(const std::string& folder, RecordAccess access) {
  rocksdb::DB* db = nullptr;
  if (access == RecordAccess::kRead) {
    STRATA_ASSIGN(const bool made, IsMade(folder));
    if (!made) return std::unique_ptr<RecordStore>(std::make_unique<NoRecords>(folder));
    STRATA_TRY(FromRocks(rocksdb::DB::OpenForReadOnly(Settings(), folder, &db), folder));
  } else {
    STRATA_TRY(MakeDurableFolder(RealDisk(), folder));
    STRATA_TRY(FromRocks(rocksdb::DB::Open(Settings(), folder, &db), folder));
  }
  return std::unique_ptr<RecordStore>(
      std::make_unique<RocksRecordStore>(folder, std::unique_ptr<rocksdb::DB>(db)));
}

}  // namespace

RecordStoreOpener RocksRecords(std::string folder) {
  return [folder = std::move(folder)](RecordAccess access) { return Open(folder, access); };
}

}  // namespace strata
