// TableFactory: makes the tables of one server, in host memory, over a cold tier on disk, or in the
// memory of GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/device_choice.h"
#include "storage/gpu/gpu_tables.h"
#include "storage/memory/local_table.h"
#include "storage/memory/memory_budget.h"
#include "storage/rocks/rocks_db.h"
#include "storage/tiered/policy.h"
#include "storage/tiered/tier_executor.h"
#include "storage/tiered/warm_shares.h"
#include "strata/status.h"

namespace strata {

struct TableFactoryOptions {
  uint64_t memory_bytes_max = 0;  // for rows, all tables together; 0: no limit
  // Folder of the cold tier, which is emptied; "": rows stay in memory. With it the memory limit
  // is kColdMemoryMin or more: the cold tier's buffers take a part.
  std::string cold;
  uint64_t cold_bytes_max = 0;  // on disk; 0: what the disk has
  TierPolicy policy;            // of all tables over a cold tier
  // Where hot rows lie. What GPUs have no room for goes to host memory, and on to the cold tier.
  DeviceChoice device;
  uint64_t gpu_memory_bytes = 0;  // of each GPU, for rows; 0: most of what is free
  uint16_t lanes = 1;             // that share the tables; each has one GPU
};

// Thread-safe. Outlives the tables.
class TableFactory {
 public:
  // The cold tier's own errors, or those of GpuTables::Open.
  static Result<std::unique_ptr<TableFactory>> Create(const TableFactoryOptions& options);

  std::unique_ptr<LocalTable> Make(const TableSpec& spec, uint16_t lane);  // a valid spec

  // Where hot rows lie: "cpu", "cuda:0,1".
  std::string device() const { return gpus_ == nullptr ? "cpu" : gpus_->name(); }
  bool has_gpus() const { return gpus_ != nullptr; }
  // Of the GPUs that lanes take in turns, what is left for others.
  std::vector<GpuLeft> left() const {
    return gpus_ == nullptr ? std::vector<GpuLeft>() : gpus_->left();
  }
  // Where rows lie and why, for the log: a line for each tier, of several one for each GPU.
  const std::vector<std::string>& plan() const { return plan_; }
  // GPUs that are there and have no part in it, and why.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // What was acknowledged must find its place whatever the limit: the limits hold from here on.
  // Rows over a cold tier keep to that of memory from the start, but for a batch that must be
  // whole.
  void BeginLimit();

 private:
  explicit TableFactory(const TableFactoryOptions& options) : options_(options) {}

  Status TakeGpus();
  void PlanBelowGpus();
  std::unique_ptr<LowerTable> MakeOnHost(const TableSpec& spec);

  const TableFactoryOptions options_;
  std::vector<std::string> plan_;
  std::vector<std::string> warnings_;
  std::unique_ptr<GpuTables> gpus_;  // null: there is no hot tier
  MemoryBudget budget_;              // without a cold tier
  std::unique_ptr<RocksDb> cold_;
  std::unique_ptr<WarmShares> warm_;
  std::unique_ptr<TierExecutor> executor_;
};

}  // namespace strata
