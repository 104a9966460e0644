// GpuTables: the GPUs that hold the tables of one server, and their memory, taken at the start.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "kernels/hashmap/residents.h"
#include "storage/memory/lower_table.h"
#include "strata/status.h"

namespace strata {

class DevicePool;
class PinnedPool;

struct GpuTablesOptions {
  std::optional<int> ordinal;  // the one GPU; nothing: all that this process sees
  uint64_t memory_bytes = 0;   // of each, for rows; 0: most of what is free
  size_t lanes = 0;            // that share them; GPUs beyond are left alone. 0: none is
};

// Of a GPU's memory, what tables have left free.
struct GpuLeft {
  // That tables need for batches: rows of a table or two on their way up, and batches of some
  // hundred thousand of them.
  static constexpr uint64_t kForBatches = uint64_t{512} << 20;

  int ordinal = 0;
  uint64_t bytes = 0;
};

// Thread-safe.
class GpuTables {
 public:
  // kNotFound: this build or this machine has no GPU, or none of that number. kFailed: there is one
  // that will not do (too old, its memory is taken). kInvalid: memory_bytes is more than it has.
  // Says which, what is missing, and what helps.
  static Result<std::unique_ptr<GpuTables>> Open(const GpuTablesOptions& options);
  ~GpuTables();  // tables are gone

  // An empty table on a GPU of the lane's: lanes take turns.
  std::unique_ptr<LocalTable> Make(const TableSpec& spec, uint16_t lane);
  // One over another, which holds what the GPU has no room for (HotTable).
  std::unique_ptr<LocalTable> MakeOver(const TableSpec& spec, uint16_t lane,
                                       std::unique_ptr<LowerTable> below, VictimOrder order);

  // The GPUs, as a setting would name them: "cuda:0", "cuda:0,1".
  const std::string& name() const { return name_; }
  // What each table with rows below it may take beside that, of its GPU and of pinned memory.
  uint64_t staging_bytes() const;
  // By GPU, those that lanes take in turns.
  const std::vector<GpuLeft>& left() const { return left_; }
  // How many more this process sees and could have, if there were more lanes.
  size_t unused() const { return unused_; }
  // A line for each GPU: what it is, what was taken for rows, what is left for batches.
  const std::vector<std::string>& plan() const { return plan_; }

 private:
  GpuTables();
  // That of all parts of a table, which lanes have.
  std::shared_ptr<std::atomic<bool>> WarnedOf(const std::string& table);

  std::vector<std::unique_ptr<DevicePool>> pools_;
  std::shared_ptr<PinnedPool> host_;   // for rows on their way in and out
  std::unique_ptr<WorkPool> workers_;  // gather rows that come up from host memory
  std::vector<GpuLeft> left_;
  size_t unused_ = 0;
  std::string name_;
  std::vector<std::string> plan_;
  Mutex warned_mutex_;
  std::map<std::string, std::weak_ptr<std::atomic<bool>>> warned_ STRATA_GUARDED_BY(warned_mutex_);
};

}  // namespace strata
