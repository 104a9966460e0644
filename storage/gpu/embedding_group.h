// The EmbeddingGroup (strata/gpu/embedding_group.h) of a LocalStore.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/sparse/bag_gradients.h"
#include "kernels/sparse/pool_rows.h"
#include "storage/gpu/bag_batch.h"
#include "storage/gpu/device_buffer.h"
#include "storage/gpu/fault_guard.h"
#include "storage/gpu/group_batch.h"
#include "storage/memory/local_store.h"
#include "strata/exec.h"
#include "strata/gpu/embedding_group.h"
#include "strata/status.h"

namespace strata {

class LocalEmbeddingGroup final : public EmbeddingGroup {
 public:
  LocalEmbeddingGroup(LocalStore& store, std::span<const std::string> names, const Exec& exec)
      : store_(store), names_(names.begin(), names.end()), exec_(exec), batch_(exec) {}
  // Before anything else, once.
  Status Start();
  ~LocalEmbeddingGroup() override;

  Status Forward(const BagBatch& batch) override;
  Status Forward(const RowBatch& batch) override;
  Status Backward(std::span<const void* const> gradients, uint64_t step) override;
  Status Backward(const float* gradients, uint64_t step) override;
  Status LookUp(const BagBatch& batch) override;

 private:
  class Turn;
  // A batch, from its Forward on.
  struct Step {
    std::vector<PooledTable> bags;  // empty: a vector a key
    PooledType type = PooledType::kFloat32;
    std::vector<uint64_t> here;  // by table: keys whose row was in the GPU's memory at once
  };

  // What the calls of the same names do, with a GPU that works.
  Status ForwardBags(const BagBatch& batch);
  Status ForwardRows(const RowBatch& batch);
  Status BackwardBags(std::span<const void* const> gradients, uint64_t step);
  Status BackwardRows(const float* gradients, uint64_t step);
  Status DoLookUp(const BagBatch& batch);
  // Combines the batch, with `rows` to fill or null. There is no step yet. ready: of BagBatch.
  Status Begin(Turn& turn, const Key* keys, std::span<const uint64_t> counts, float* rows,
               void* ready);
  Status CheckStep(bool has_bags, uint64_t step) const;
  // Brings up the rows of the batch that lie in tiers below, and makes room there for new ones.
  // Whether there were any: rows may have moved then.
  Result<bool> MakeResident(Turn& turn);
  template <typename GradientsOf>
  Status Finish(uint64_t step, const GradientsOf& gradients_of);

  LocalStore& store_;
  const std::vector<std::string> names_;
  const Exec exec_;
  std::vector<TableSpec> specs_;
  FaultGuard guard_;
  void* done_ = nullptr;  // an event
  GroupBatch batch_;
  bool has_step_ = false;
  Step step_;

  DeviceBuffer bag_gradients_;
  DeviceBuffer listed_places_;  // ListedKeys
  DeviceBuffer listed_keys_;
  DeviceBuffer listed_counts_;
};

}  // namespace strata
