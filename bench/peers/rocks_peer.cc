#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>

#include <cstring>

#include "bench/peers/service_peer.h"

namespace strata::bench {
namespace {

constexpr size_t kCacheBytes = size_t{2} << 30;  // all of it fits
constexpr size_t kWriteBufferBytes = size_t{256} << 20;

Status FromRocks(const rocksdb::Status& status) {
  return status.ok() ? Status() : Failed("rocksdb: " + status.ToString());
}

rocksdb::Slice SliceOf(const void* bytes, size_t size) {
  return {static_cast<const char*>(bytes), size};
}

Status PutRows(rocksdb::DB& db, std::span<const Key> keys, std::span<const float> values,
               uint32_t dim) {
  const size_t row_bytes = dim * sizeof(float);
  rocksdb::WriteBatch batch(keys.size() * (row_bytes + 32));
  for (size_t i = 0; i < keys.size(); ++i) {
    STRATA_TRY(FromRocks(
        batch.Put(SliceOf(&keys[i], sizeof(Key)), SliceOf(values.data() + i * dim, row_bytes))));
  }
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return FromRocks(db.Write(options, &batch));
}

class RocksClient final : public ServiceClient {
 public:
  explicit RocksClient(rocksdb::DB& db) : db_(db) {}

  Status Run(const Load& load, uint64_t first, uint64_t count) override {
    rows_.resize(load.batch * load.dim);
    for (uint64_t n = first; n < first + count; ++n) {
      const TimeNs begin = load.latencies == nullptr ? 0 : RealClock().Now();
      if (load.IsPull(n)) {
        STRATA_TRY(Get(load.Batch(n), load.dim));
      } else {
        STRATA_TRY(PutRows(db_, load.Batch(n), load.floats, load.dim));
      }
      if (load.latencies != nullptr) load.latencies->push_back(RealClock().Now() - begin);
    }
    return {};
  }

 private:
  Status Get(std::span<const Key> keys, uint32_t dim) {
    const size_t n = keys.size();
    slices_.clear();
    for (const Key& key : keys) slices_.push_back(SliceOf(&key, sizeof key));
    values_.resize(n);
    statuses_.resize(n);
    db_.MultiGet(rocksdb::ReadOptions(), db_.DefaultColumnFamily(), n, slices_.data(),
                 values_.data(), statuses_.data());
    for (size_t i = 0; i < n; ++i) {
      STRATA_TRY(FromRocks(statuses_[i]));
      memcpy(rows_.data() + i * dim, values_[i].data(), dim * sizeof(float));
      values_[i].Reset();
    }
    return {};
  }

  rocksdb::DB& db_;
  std::vector<float> rows_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

class RocksPeer final : public ServicePeer {
 public:
  explicit RocksPeer(ScratchFolder folder) : folder_(std::move(folder)) {}

  Status Start() {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(kCacheBytes);
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.write_buffer_size = kWriteBufferBytes;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    STRATA_TRY(FromRocks(rocksdb::DB::Open(options, folder_.path(), &db)));
    db_.reset(db);
    return {};
  }

  std::string NameOf(Op op) const override {
    return op == Op::kPull   ? "rocksdb MultiGet"
           : op == Op::kPush ? "rocksdb Write"
                             : "rocksdb both";
  }

  Status Fill(uint64_t rows, uint32_t dim) override {
    STRATA_TRY(FillRows(rows, dim, [&](std::span<const Key> keys, std::span<const float> values) {
      return PutRows(*db_, keys, values, dim);
    }));
    return FromRocks(db_->Flush(rocksdb::FlushOptions()));
  }

  Result<std::unique_ptr<ServiceClient>> Connect() override {
    return std::unique_ptr<ServiceClient>(std::make_unique<RocksClient>(*db_));
  }

 private:
  ScratchFolder folder_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

Result<std::unique_ptr<ServicePeer>> StartRocks() {
  STRATA_ASSIGN(ScratchFolder folder, ScratchFolder::Make());
  auto peer = std::make_unique<RocksPeer>(std::move(folder));
  STRATA_TRY(peer->Start());
  return std::unique_ptr<ServicePeer>(std::move(peer));
}

}  // namespace strata::bench
