// What a table with a cold tier stands on, for tests: a RocksDB in a folder of its own, and tables
// that bring theirs along.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "bench/peers/rocks_table.h"
#include "storage/tiered/tiered_table.h"
#include "tests/support/temp_folder.h"

namespace strata {

class ColdFolder {
 public:
  explicit ColdFolder(RocksOptions options = {}) {
    options.folder = folder_.File("cold");
    options.memory_bytes_max = 8 << 20;
    options.direct_io = false;  // wherever tests put their folders
    options.read_threads = 1;
    auto cold = RocksDb::Open(options);
    STRATA_CHECK_MSG(cold.ok(), cold.status().ToString());
    cold_ = std::move(cold).value();
    cold_->BeginLimit();
  }
  RocksDb& cold() { return *cold_; }
  // Damages each page of the files that there are now; all that was written is in them.
  void DamageFiles() {
    STRATA_CHECK(cold_->Flush().ok());
    for (const auto& entry : std::filesystem::directory_iterator(folder_.File("cold"))) {
      if (entry.path().extension() != ".sst") continue;
      std::string bytes = ReadWholeFile(entry.path().string());
      // The last page is the file's own index and end, which were read when it was made.
      for (size_t at = 100; at + 4096 < bytes.size(); at += 8192) bytes[at] ^= 0x10;
      WriteWholeFile(entry.path().string(), bytes);
    }
  }

 private:
  TempFolder folder_;
  std::unique_ptr<RocksDb> cold_;
};

struct TierParts {
  // `rows_max`: of a table in memory.
  explicit TierParts(uint64_t rows_max, bool with_thread = false, RocksOptions options = {})
      : folder(std::move(options)),
        warm(uint64_t{1} << 30, rows_max),
        executor(MakeInlineExecutor()) {
    if (!with_thread) return;
    auto threads = MakeThreadExecutor();
    STRATA_CHECK_MSG(threads.ok(), threads.status().ToString());
    executor = std::move(threads).value();
  }

  ColdFolder folder;
  WarmShares warm;
  std::unique_ptr<TierExecutor> executor;
};

class OwnRocksTable : private ColdFolder, public RocksTable {
 public:
  explicit OwnRocksTable(const TableSpec& spec) : RocksTable(spec, cold()) {}
};

class OwnTieredTable : private TierParts, public TieredTable {
 public:
  OwnTieredTable(const TableSpec& spec, const TierPolicy& policy, uint64_t rows_max,
                 bool with_thread = false, RocksOptions options = {})
      : TierParts(rows_max, with_thread, std::move(options)),
        TieredTable(spec, policy, warm, folder.cold(), *executor) {}
};

}  // namespace strata
