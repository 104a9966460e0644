#include "storage/rocks/rocks_db.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/hash.h"
#include "base/human_text.h"
#include "base/thread/mutex.h"
#include "base/thread/work_pool.h"
#include "storage/rocks/rocks_options.h"
#include "storage/rocks/sorted_fill.h"

namespace strata {
namespace {

constexpr size_t kKeyBytes = 12;
constexpr TimeNs kMergePatience = 30 * kSecond;
constexpr int kMergePollUs = 500;
using ColdKey = std::array<char, kKeyBytes>;

ColdKey MakeColdKey(SpaceId space, uint64_t hash) {
  ColdKey key;
  const uint32_t space_bytes = __builtin_bswap32(static_cast<uint32_t>(space));
  const uint64_t hash_bytes = __builtin_bswap64(hash);
  memcpy(key.data(), &space_bytes, sizeof space_bytes);
  memcpy(key.data() + sizeof space_bytes, &hash_bytes, sizeof hash_bytes);
  return key;
}
static_assert(std::endian::native == std::endian::little);

rocksdb::Slice SliceOf(const ColdKey& key) { return {key.data(), key.size()}; }

uint64_t HashOf(const rocksdb::Slice& key) {
  uint64_t hash_bytes = 0;
  memcpy(&hash_bytes, key.data() + kKeyBytes - sizeof hash_bytes, sizeof hash_bytes);
  return __builtin_bswap64(hash_bytes);
}

rocksdb::Status MergeFirst() {
  return rocksdb::Status::NoSpace("its files have to be merged first, which takes more room");
}

Status FromRocks(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return {};
  const std::string text = fmt::format("cold tier in {}: {}", folder, status.ToString());
  if (IsNoRoom(status)) {
    return DiskFull(text + "; free space there, or give it a larger disk");
  }
  if (status.IsCorruption()) {
    return Corrupt(text +
                   "; the disk returned other bytes than were written to it. A restart "
                   "builds the cold tier anew from checkpoint and log");
  }
  return Failed(text);
}

class SnapshotOfDb : public RocksSnapshot {
 public:
  explicit SnapshotOfDb(rocksdb::DB& db) : db_(db), snapshot_(db.GetSnapshot()) {}
  ~SnapshotOfDb() override { db_.ReleaseSnapshot(snapshot_); }
  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  rocksdb::DB& db_;
  const rocksdb::Snapshot* const snapshot_;
};

class CursorOfDb : public RocksCursor {
 public:
  CursorOfDb(rocksdb::DB& db, const std::string& folder, SpaceId space, size_t row_bytes,
             uint64_t hash_min, const RocksSnapshot* snapshot, Status status)
      : folder_(folder),
        row_(row_bytes),
        end_key_(MakeColdKey(NextSpace(space), 0)),
        status_(std::move(status)) {
    if (!status_.ok()) return;
    end_ = SliceOf(end_key_);
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.readahead_size = 256 << 10;  // a scan is sequential
    options.iterate_upper_bound = &end_;
    if (snapshot != nullptr) options.snapshot = static_cast<const SnapshotOfDb*>(snapshot)->get();
    iterator_.reset(db.NewIterator(options));
    iterator_->Seek(SliceOf(MakeColdKey(space, hash_min)));
    Check();
  }

  bool Valid() const override { return status_.ok() && iterator_->Valid(); }
  uint64_t hash() const override { return HashOf(iterator_->key()); }
  Key key() const override { return KeyOfColdHash(hash()); }
  const std::byte* row() const override { return row_.data(); }
  void Next() override {
    iterator_->Next();
    Check();
  }
  Status status() const override { return status_; }

 private:
  static SpaceId NextSpace(SpaceId space) {
    return static_cast<SpaceId>(static_cast<uint32_t>(space) + 1);
  }
  void Check() {
    if (!iterator_->Valid()) {
      status_ = FromRocks(iterator_->status(), folder_);
    } else if (const rocksdb::Slice row = iterator_->value(); row.size() != row_.size()) {
      status_ = Corrupt(fmt::format("cold tier in {}: a row of {} bytes, expected {}", folder_,
                                    row.size(), row_.size()));
    } else {
      memcpy(row_.data(), row.data(), row_.size());
    }
  }

  const std::string& folder_;
  std::vector<std::byte> row_;  // aligned, which RocksDB's own bytes need not be
  const ColdKey end_key_;
  rocksdb::Slice end_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  Status status_;
};

}  // namespace

uint64_t ColdHashOf(Key key) { return Mix64(key); }
Key KeyOfColdHash(uint64_t hash) { return Unmix64(hash); }

// Nothing lies above the highest hash, so no end can be told behind it.
bool AppendOrder::Take(Key key) {
  const uint64_t hash = ColdHashOf(key);
  if (hash < hash_end_ || hash == UINT64_MAX) return false;
  hash_end_ = hash + 1;
  return true;
}

struct RocksDb::Impl {
  struct Space {
    size_t row_bytes = 0;
    std::atomic<uint64_t> hash_end = 0;
    std::atomic<bool> has_fill = false;
    Mutex mutex;
    std::unique_ptr<SortedFill> fill STRATA_GUARDED_BY(mutex);
    rocksdb::Status fill_status STRATA_GUARDED_BY(mutex);  // an error stays
  };

  std::string folder;
  uint64_t limit = 0;                        // RocksOptions::disk_bytes_max
  std::atomic<uint64_t> disk_bytes_max = 0;  // the same from BeginLimit on
  std::atomic<uint64_t> refused_bytes = 0;   // of the last write for which there was no room
  const std::shared_ptr<RoomWatch> room = std::make_shared<RoomWatch>();
  rocksdb::Options settings;
  std::unique_ptr<rocksdb::DB> db;
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::SstFileManager> files;
  std::unique_ptr<WorkPool> pool;
  mutable SharedMutex mutex;
  std::map<SpaceId, Space> spaces STRATA_GUARDED_BY(mutex);  // the map, not what it holds
  uint32_t space_last STRATA_GUARDED_BY(mutex) = 0;
  SharedMutex writers;  // SortedFill

  Space& SpaceOf(SpaceId space) {
    const ReaderLock lock(mutex);
    return spaces.at(space);
  }
  // What was appended is to be seen.
  Status EndFill(Space& space);
  // kDiskFull when as many bytes more exceed what the limit leaves for rows.
  Status CheckLimit(uint64_t bytes) const;
  // Of files, those of fills too: RocksDB's own count lacks them until a compaction meets them.
  uint64_t DiskBytes() const;
  // Its limit counts as it does, so it must leave room for them.
  void LimitDisk() const;
  // Writes have to wait for merges, and those find no room.
  bool WaitsForMerge() const;
  // Waits for merges that lag behind, but not for those that find no room.
  rocksdb::Status WriteBatch(rocksdb::WriteBatch* batch) const;
  Status ReadSome(SpaceId space, size_t bytes, std::span<const uint32_t> order,
                  std::span<const Key> keys, std::byte* out, uint8_t* found) const;
};

RocksDb::RocksDb(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksDb::~RocksDb() {
  impl_->spaces.clear();
  // What the write buffers hold is not wanted any more.
  rocksdb::CancelAllBackgroundWork(impl_->db.get(), /*wait=*/true);
}

namespace {

Status RemoveOldFills(const std::string& folder) {
  STRATA_ASSIGN(const std::vector<std::string> names, RealDisk().List(folder));
  for (const std::string& name : names) {
    if (name.starts_with(kFillPrefix))
      STRATA_TRY(RealDisk().Remove(fmt::format("{}/{}", folder, name)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<RocksDb>> RocksDb::Open(const RocksOptions& options) {
  if (options.folder.empty()) return Invalid("the cold tier needs a folder");
  if (options.memory_bytes_max < (1 << 20)) {
    return Invalid(fmt::format("the cold tier needs at least 1 MiB of memory; found {} bytes",
                               options.memory_bytes_max));
  }
  STRATA_TRY(RealDisk().MakeFolder(options.folder).Prefixed("cold tier"));
  STRATA_TRY(RemoveOldFills(options.folder).Prefixed("cold tier"));
  auto impl = std::make_unique<Impl>();
  impl->folder = options.folder;
  impl->settings = MakeRocksOptions(options, impl->room);
  impl->limit = options.disk_bytes_max;
  rocksdb::Options& settings = impl->settings;
  const auto* table = settings.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  impl->cache = table->block_cache;
  impl->files = settings.sst_file_manager;
  settings.avoid_flush_during_shutdown = true;
  if (const auto gone = rocksdb::DestroyDB(options.folder, settings); !gone.ok()) {
    return FromRocks(gone, options.folder);
  }
  rocksdb::DB* db = nullptr;
  if (const auto opened = rocksdb::DB::Open(settings, options.folder, &db); !opened.ok()) {
    return FromRocks(opened, options.folder);
  }
  impl->db.reset(db);
  STRATA_ASSIGN(impl->pool, WorkPool::Start("cold-read", options.read_threads));
  return std::unique_ptr<RocksDb>(new RocksDb(std::move(impl)));
}

SpaceId RocksDb::MakeSpace(size_t row_bytes) {
  const WriterLock lock(impl_->mutex);
  const auto space = static_cast<SpaceId>(++impl_->space_last);
  impl_->spaces[space].row_bytes = row_bytes;
  return space;
}

Status RocksDb::DropSpace(SpaceId space) {
  {
    Impl::Space& dropped = impl_->SpaceOf(space);
    const MutexLock lock(dropped.mutex);
    dropped.fill.reset();
    dropped.has_fill = false;
  }
  const ColdKey first = MakeColdKey(space, 0);
  const ColdKey last = MakeColdKey(static_cast<SpaceId>(static_cast<uint32_t>(space) + 1), 0);
  const rocksdb::Slice begin = SliceOf(first), end = SliceOf(last);
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  auto* family = impl_->db->DefaultColumnFamily();
  // The files that hold nothing else go at once, the rest when compactions meet it.
  STRATA_TRY(FromRocks(rocksdb::DeleteFilesInRange(impl_->db.get(), family, &begin, &end, false),
                       impl_->folder));
  const ReaderLock lock(impl_->writers);
  return FromRocks(impl_->db->DeleteRange(options, family, begin, end), impl_->folder);
}

Status RocksDb::Impl::ReadSome(SpaceId space, size_t bytes, std::span<const uint32_t> order,
                               std::span<const Key> keys, std::byte* out, uint8_t* found) const {
  constexpr size_t kAtOnce = 32;  // RocksDB's own batch; more would only pin more blocks
  std::array<ColdKey, kAtOnce> cold_keys;
  std::array<rocksdb::Slice, kAtOnce> slices;
  std::array<rocksdb::PinnableSlice, kAtOnce> values;
  std::array<rocksdb::Status, kAtOnce> statuses;
  const rocksdb::ReadOptions options;
  for (size_t begin = 0; begin < order.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, order.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      cold_keys[i] = MakeColdKey(space, ColdHashOf(keys[order[begin + i]]));
      slices[i] = SliceOf(cold_keys[i]);
    }
    db->MultiGet(options, db->DefaultColumnFamily(), count, slices.data(), values.data(),
                 statuses.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t at = order[begin + i];
      found[at] = statuses[i].ok() ? 1 : 0;
      if (!statuses[i].ok()) {
        if (!statuses[i].IsNotFound()) {
          return FromRocks(statuses[i], folder).Prefixed(fmt::format("key {}", keys[at]));
        }
      } else if (values[i].size() != bytes) {
        return Corrupt(fmt::format("cold tier in {}: the row of key {} has {} bytes, expected {}",
                                   folder, keys[at], values[i].size(), bytes));
      } else {
        memcpy(out + at * bytes, values[i].data(), bytes);
      }
      values[i].Reset();
    }
  }
  return {};
}

Status RocksDb::Read(SpaceId space, std::span<const Key> keys, std::span<std::byte> out,
                     std::span<uint8_t> found) const {
  Impl::Space& of = impl_->SpaceOf(space);
  STRATA_TRY(impl_->EndFill(of));
  const size_t bytes = of.row_bytes;
  STRATA_CHECK(out.size() == keys.size() * bytes && found.size() == keys.size());
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return ColdHashOf(keys[a]) < ColdHashOf(keys[b]); });
  // Pieces small enough that all threads end at about the same time.
  constexpr size_t kPiece = 16;
  const size_t pieces = (order.size() + kPiece - 1) / kPiece;
  Mutex mutex;
  Status first_error;
  impl_->pool->Run(pieces, [&](size_t piece) {
    const size_t begin = piece * kPiece;
    const auto some = std::span(order).subspan(begin, std::min(kPiece, order.size() - begin));
    Status status = impl_->ReadSome(space, bytes, some, keys, out.data(), found.data());
    if (status.ok()) return;
    const MutexLock lock(mutex);
    if (first_error.ok()) first_error = std::move(status);
  });
  return first_error;
}

Status RocksDb::Impl::EndFill(Space& space) {
  if (!space.has_fill) return {};
  const MutexLock lock(space.mutex);
  if (space.fill == nullptr) return {};
  if (space.fill_status.ok()) space.fill_status = space.fill->Finish();
  if (!space.fill_status.ok()) return FromRocks(space.fill_status, folder);
  space.fill.reset();
  space.has_fill = false;
  LimitDisk();
  return {};
}

uint64_t RocksDb::Impl::DiskBytes() const {
  uint64_t bytes = 0;
  db->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &bytes);
  return std::max(bytes, files->GetTotalSize());
}

void RocksDb::Impl::LimitDisk() const {
  if (disk_bytes_max == 0) return;
  const uint64_t unknown = DiskBytes() - files->GetTotalSize();
  files->SetMaxAllowedSpaceUsage(disk_bytes_max - std::min(unknown, disk_bytes_max - 1));
}

// Files whose rows were merged into others are not counted, nor those that come of it: for both
// there is the other half.
Status RocksDb::Impl::CheckLimit(uint64_t bytes) const {
  const uint64_t max = disk_bytes_max;
  if (max == 0) return {};
  uint64_t files_bytes = 0, buffers_bytes = 0;
  db->GetIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &files_bytes);
  db->GetIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &buffers_bytes);
  if (files_bytes + buffers_bytes + bytes <= max / 2) return {};
  return DiskFull(fmt::format(
      "cold tier in {}: rows would take more than {}, half of server.cold_bytes_max; the "
      "other half is for merging files. Raise it and restart",
      folder, HumanBytes(max / 2)));
}

void RocksDb::BeginLimit() {
  impl_->disk_bytes_max = impl_->limit;
  impl_->LimitDisk();
}

Status RocksDb::LookForRoom() {
  const uint64_t bytes = impl_->refused_bytes;
  if (bytes == 0) return {};
  STRATA_TRY(impl_->CheckLimit(bytes));
  STRATA_TRY(impl_->room->Stopped().Prefixed("cold tier in " + impl_->folder));
  if (impl_->WaitsForMerge()) return FromRocks(MergeFirst(), impl_->folder);
  impl_->refused_bytes = 0;
  return {};
}

AppendOrder RocksDb::OrderOf(SpaceId space) const {
  return AppendOrder(impl_->SpaceOf(space).hash_end);
}

Status RocksDb::Append(SpaceId space, std::span<const ColdWrite> rows) {
  Impl::Space& of = impl_->SpaceOf(space);
  const MutexLock lock(of.mutex);
  if (!of.fill_status.ok()) return FromRocks(of.fill_status, impl_->folder);
  if (of.fill == nullptr) {
    of.fill = std::make_unique<SortedFill>(
        *impl_->db, impl_->settings, impl_->writers,
        fmt::format("{}/{}{}", impl_->folder, kFillPrefix, static_cast<uint32_t>(space)));
    of.has_fill = true;
  }
  const uint64_t bytes = of.fill->open_bytes() + rows.size() * of.row_bytes;
  if (Status full = impl_->CheckLimit(bytes); !full.ok()) {
    of.fill_status = rocksdb::Status::SpaceLimit();
    return full;
  }
  AppendOrder order(of.hash_end);
  for (const ColdWrite& row : rows) {
    STRATA_CHECK(row.row != nullptr && order.Take(row.key));
    const ColdKey key = MakeColdKey(space, ColdHashOf(row.key));
    of.fill_status = of.fill->Add(
        SliceOf(key), rocksdb::Slice(reinterpret_cast<const char*>(row.row), of.row_bytes));
    if (!of.fill_status.ok()) return FromRocks(of.fill_status, impl_->folder);
    of.hash_end = order.hash_end();
  }
  return {};
}

bool RocksDb::Impl::WaitsForMerge() const {
  uint64_t stopped = 0, delayed = 0;
  db->GetIntProperty(rocksdb::DB::Properties::kIsWriteStopped, &stopped);
  db->GetIntProperty(rocksdb::DB::Properties::kActualDelayedWriteRate, &delayed);
  return room->merge_failed() && (stopped != 0 || delayed != 0);
}

rocksdb::Status RocksDb::Impl::WriteBatch(rocksdb::WriteBatch* batch) const {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  options.no_slowdown = true;
  const TimeNs late = RealClock().Now() + kMergePatience;
  while (true) {
    const rocksdb::Status status = db->Write(options, batch);
    if (!status.IsIncomplete()) return status;
    if (room->merge_failed() || RealClock().Now() >= late) return MergeFirst();
    rocksdb::Env::Default()->SleepForMicroseconds(kMergePollUs);
  }
}

Status RocksDb::Write(SpaceId space, std::span<const ColdWrite> writes) {
  Impl::Space& of = impl_->SpaceOf(space);
  STRATA_TRY(impl_->EndFill(of));
  const size_t bytes = of.row_bytes;
  uint64_t hash_end = of.hash_end;
  constexpr size_t kEntryBytes = kKeyBytes + 8;
  rocksdb::WriteBatch batch(writes.size() * (bytes + kEntryBytes), 0,
                            /*protection_bytes_per_key=*/8, 0);
  for (const ColdWrite& write : writes) {
    const uint64_t hash = ColdHashOf(write.key);
    hash_end = std::max(hash_end, hash + (hash == UINT64_MAX ? 0 : 1));
    const ColdKey key = MakeColdKey(space, hash);
    const auto status =
        write.row == nullptr
            ? batch.Delete(SliceOf(key))
            : batch.Put(SliceOf(key),
                        rocksdb::Slice(reinterpret_cast<const char*>(write.row), bytes));
    if (!status.ok()) return FromRocks(status, impl_->folder);
  }
  if (Status full = impl_->CheckLimit(batch.GetDataSize()); !full.ok()) {
    impl_->refused_bytes = batch.GetDataSize();
    return full;
  }
  of.hash_end = hash_end;
  impl_->LimitDisk();
  const ReaderLock lock(impl_->writers);
  const rocksdb::Status status = impl_->WriteBatch(&batch);
  if (IsNoRoom(status)) impl_->refused_bytes = batch.GetDataSize();
  return FromRocks(status, impl_->folder);
}

std::unique_ptr<RocksSnapshot> RocksDb::Snapshot() const {
  {
    const ReaderLock lock(impl_->mutex);
    // An error is met again by whoever reads.
    for (auto& [id, space] : impl_->spaces) static_cast<void>(impl_->EndFill(space).ok());
  }
  return std::make_unique<SnapshotOfDb>(*impl_->db);
}

std::unique_ptr<RocksCursor> RocksDb::Cursor(SpaceId space, uint64_t hash_min,
                                             const RocksSnapshot* snapshot) const {
  Impl::Space& of = impl_->SpaceOf(space);
  return std::make_unique<CursorOfDb>(*impl_->db, impl_->folder, space, of.row_bytes, hash_min,
                                      snapshot, impl_->EndFill(of));
}

Status RocksDb::Flush() {
  return FromRocks(impl_->db->Flush(rocksdb::FlushOptions()), impl_->folder);
}

RocksStats RocksDb::Stats() const {
  return {.memory_bytes = impl_->cache->GetUsage(), .disk_bytes = impl_->DiskBytes()};
}

}  // namespace strata
