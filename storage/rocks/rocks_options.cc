#include "storage/rocks/rocks_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>

namespace strata {
namespace {

// Its log would be one more file to bound; what matters comes back as a Status.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

constexpr uint64_t kMiB = uint64_t{1} << 20;
// What a compaction reads and writes at a time, for each of its files.
constexpr size_t kCompactionBuffer = 128 << 10;

// How the budget is cut. Compactions take from outside the cache.
uint64_t CacheBytes(uint64_t budget) { return budget - std::min(budget / 4, 4 * kMiB); }
uint64_t WriteBufferBytes(uint64_t budget) {
  return std::clamp(budget / 24, uint64_t{64} << 10, 32 * kMiB);
}

rocksdb::BlockBasedTableOptions TableOptions(std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  table.checksum = rocksdb::kXXH3;  // Debian's build has no CRC-32C instructions
  table.block_size = 4 << 10;
  table.block_align = true;  // a read of a row is one page of the disk, not two
  table.format_version = 5;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // In pieces of a block, so that a table whose index outgrows the cache needs one more read a
  // row and not a megabyte.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 4 << 10;
  table.index_block_restart_interval = 4;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_top_level_index_and_filter = true;
  for (const auto role :
       {rocksdb::CacheEntryRole::kFilterConstruction,
        rocksdb::CacheEntryRole::kBlockBasedTableReader, rocksdb::CacheEntryRole::kFileMetadata}) {
    table.cache_usage_options.options_overrides.insert(
        {role, {.charged = rocksdb::CacheEntryRoleOptions::Decision::kEnabled}});
  }
  return table;
}

}  // namespace

std::shared_ptr<rocksdb::Logger> NoRocksLog() { return std::make_shared<NoLog>(); }

rocksdb::Options MakeRocksOptions(const RocksOptions& options,
                                  const std::shared_ptr<RoomWatch>& room) {
  rocksdb::Options result;
  result.create_if_missing = true;
  result.info_log = NoRocksLog();
  result.listeners.push_back(room);
  result.stats_dump_period_sec = 0;
  result.stats_persist_period_sec = 0;
  result.compression = rocksdb::kNoCompression;
  result.bottommost_compression = rocksdb::kNoCompression;
  result.use_direct_reads = options.direct_io;
  result.use_direct_io_for_flush_and_compaction = options.direct_io;
  result.paranoid_checks = true;
  result.allow_fallocate = false;  // a full disk is met when bytes are written
  result.compaction_readahead_size = kCompactionBuffer;
  result.writable_file_max_buffer_size = kCompactionBuffer;
  result.max_background_jobs = 2;
  result.table_cache_numshardbits = 4;
  result.max_manifest_file_size = 16 * kMiB;
  result.manifest_preallocation_size = 64 << 10;

  // Not strict: a cache that refuses would turn a read into an error. Write buffers are charged to
  // it, so that all that RocksDB holds is within its capacity.
  auto cache = rocksdb::NewLRUCache(CacheBytes(options.memory_bytes_max), /*num_shard_bits=*/2,
                                    /*strict_capacity_limit=*/false, /*high_pri_pool_ratio=*/0.9);
  const uint64_t buffer = WriteBufferBytes(options.memory_bytes_max);
  result.write_buffer_size = buffer;
  result.max_write_buffer_number = 3;
  result.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(3 * buffer, cache);
  // Misses are frequent: most rows of a new table are looked for here before they are made.
  result.memtable_whole_key_filtering = true;
  result.memtable_prefix_bloom_size_ratio = 0.05;

  result.compaction_style = rocksdb::kCompactionStyleUniversal;
  // Where the disk has a limit, rows that newer ones have replaced must not take the most of it.
  result.compaction_options_universal.max_size_amplification_percent =
      options.disk_bytes_max == 0 ? 200 : 50;
  // Files of a fill, which do not overlap, go to the last level as they are.
  result.compaction_options_universal.allow_trivial_move = true;
  result.level0_file_num_compaction_trigger = 4;
  result.level0_slowdown_writes_trigger = 20;
  result.level0_stop_writes_trigger = 36;
  result.num_levels = 7;
  result.target_file_size_base = 16 * kMiB;  // what a filter under construction holds grows with it
  result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(std::move(cache))));

  result.sst_file_manager.reset(rocksdb::NewSstFileManager(rocksdb::Env::Default()));
  return result;
}

}  // namespace strata
