// EmbeddingGroup: tables of a store on a GPU as a model on the same GPU uses them. Its vectors are
// made of the rows where they lie, and the rows updated from its gradients where those lie; nothing
// is copied to the host or within the GPU. All tables take part in each launch.
//
// A step of training, all of it on one stream:
//
//   group->Forward(batch);           // rows in, vectors out
//   ...                              // the model: vectors in, their gradients out
//   group->Backward(gradients, step);
//
// Where all rows are on the GPU, Forward waits for nothing, and Backward for counts that Forward
// left, which the GPU has told long before the model is done. A table with tiers below has Forward
// wait for those counts, and for rows to come up; tables that were changed by others in between, or
// that grow, or are being copied for a checkpoint, have Backward wait for the stream. Meanwhile the
// tables are locked. An error that the calling thread has left with CUDA ends the process, as one
// of the GPU's would. Others may read and write the tables at any time, also
// between the two: gradients are applied to the rows as they are then, as with any push. What the
// tables hold is equal to the bit to what lookups and updates through the store make of it.
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
#include "storage/gpu/group_batch.h"
#include "storage/memory/local_store.h"
#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

// Rows as they are, a vector a key.
struct RowBatch {
  const Key* keys = nullptr;         // as above
  std::span<const uint64_t> counts;  // of them, by table
  float* rows = nullptr;  // by position (TableGroup); device memory, a multiple of 16 bytes
};

// Not thread-safe; several groups may share tables.
class EmbeddingGroup {
 public:
  // The tables, at most kPoolTablesMax, have one optimizer. They are looked for anew in each call:
  // one that was dropped is kNotFound then, one that was made anew with another definition
  // kInvalid. `exec` names their GPU and the stream of all work; `store` and the stream outlive the
  // group. kInvalid where the tables cannot be one group: says which, and why. kRefused: keys of a
  // table are admitted late, or its rows expire, or there is no memory for it.
  static Result<std::unique_ptr<EmbeddingGroup>> Open(LocalStore& store,
                                                      std::span<const std::string> tables,
                                                      const Exec& exec);
  ~EmbeddingGroup();  // waits for the stream

  // A batch that is to be learned from. It stays as it is until Backward, or the next Forward, has
  // been called, and then until the stream has done what was enqueued. Rows that are missing answer
  // with their initial value. kRefused when a table has tiers below, and the batch more rows than
  // its part of the GPU's memory: a smaller batch helps.
  Status Forward(const BagBatch& batch);
  Status Forward(const RowBatch& batch);

  // Updates the rows of the last Forward at time `step` (1 or more). Once for each. After any error
  // but kInvalid nothing was updated, and it may be tried again: kRefused when rows that are new
  // have no room, or there is no memory to bring rows up or keep them for a checkpoint.
  // gradients[t]: those of the vectors of table t, of the batch's type and laid out as `out` was.
  Status Backward(std::span<const void* const> gradients, uint64_t step);
  // By position, as `rows` was; a multiple of 16 bytes.
  Status Backward(const float* gradients, uint64_t step);

  // As Forward, of what is not to be learned from: cheaper, if no table has tiers below. A Forward
  // before it is forgotten. Stats() of the tables do not count it.
  Status LookUp(const BagBatch& batch);

 private:
  class Turn;
  // A batch, from its Forward on.
  struct Step {
    std::vector<PooledTable> bags;  // empty: a vector a key
    PooledType type = PooledType::kFloat32;
    std::vector<uint64_t> here;  // by table: keys whose row was in the GPU's memory at once
  };

  EmbeddingGroup(LocalStore& store, std::span<const std::string> names, const Exec& exec)
      : store_(store), names_(names.begin(), names.end()), exec_(exec), batch_(exec) {}
  // Combines the batch, with `rows` to fill or null. There is no step yet.
  Status Begin(Turn& turn, const Key* keys, std::span<const uint64_t> counts, float* rows);
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
