// The SpreadGroup (strata/gpu/spread_group.h) of LocalStores.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/sparse/collect_parts.h"
#include "storage/gpu/bag_batch.h"
#include "storage/gpu/fault_guard.h"
#include "storage/memory/local_store.h"
#include "strata/exec.h"
#include "strata/gpu/spread_group.h"
#include "strata/status.h"

namespace strata {

class LocalSpreadGroup final : public SpreadGroup {
 public:
  LocalSpreadGroup(std::span<const std::string> names, std::span<const uint16_t> owner_of_shard);
  // Before anything else, once.
  Status Make(std::span<LocalStore* const> stores, std::span<const Exec> execs);
  ~LocalSpreadGroup() override;

  Status Forward(std::span<const BagBatch> batches) override;
  Status Backward(std::span<const std::span<const void* const>> gradients, uint64_t step) override;
  Status LookUp(std::span<const BagBatch> batches) override;

 private:
  class Turn;
  struct Gpu;

  // What the calls of the same names do, with GPUs that work.
  Status DoForward(std::span<const BagBatch> batches);
  Status DoBackward(std::span<const std::span<const void* const>> gradients, uint64_t step);
  Status DoLookUp(std::span<const BagBatch> batches);
  Status CheckTables();  // and their definitions are the group's from here on
  Status CheckBatches(std::span<const BagBatch> batches) const;
  // Each stream waits for what was enqueued on all of them.
  void Meet() const;
  // Cuts the ranks' batches by owner, and waits until it is known how many keys each gets.
  Status Cut(std::span<const BagBatch> batches);
  // The owners take their keys and find the rows.
  Status Collect(Turn& turn);
  // The ranks' vectors.
  void Pool(Turn& turn, std::span<const BagBatch> batches);
  // The owners' rows as the tables are now, and room for those that are missing.
  Status Settle(Turn& turn);
  std::vector<RankBatch> Ranks() const;

  const std::vector<std::string> names_;
  const std::vector<uint16_t> owner_of_shard_;
  std::vector<TableSpec> specs_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::shared_ptr<float[]> host_maps_;  // pinned
  FaultGuard guard_;
  bool has_step_ = false;
  PooledType type_ = PooledType::kFloat32;
};

}  // namespace strata
