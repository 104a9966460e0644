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
// Where all rows are on the GPU, Forward waits for nothing. Backward waits for counts that Forward
// makes, which have come long before the model is done. With a table that has tiers below, Forward
// waits for those counts, and until the rows have come from the tiers to the GPU; tables that were
// changed by others in between, or that grow, or are being copied for a checkpoint, have Backward
// wait for the stream. Meanwhile the tables are locked. An error that the calling thread has left
// with CUDA ends the process, as one of the GPU's would. Others may read and write the tables at
// any time, also between the two: gradients are applied to the rows as they are then, as with any
// push. What the tables hold is equal to the bit to what lookups and updates through the store make
// of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "strata/exec.h"
#include "strata/gpu/bags.h"
#include "strata/status.h"
#include "strata/table_store.h"

namespace strata {

// Not thread-safe; several groups may share tables.
class EmbeddingGroup {
 public:
  // The tables, at most kPoolTablesMax, have one optimizer. They are looked for anew in each call:
  // one that was dropped is kNotFound then, one that was made anew with another definition
  // kInvalid. `exec` names their GPU and the stream of all work; `store` and the stream outlive the
  // group. kInvalid where the tables cannot be one group (says which, and why), or the store
  // is not one of strata/gpu/gpu_store.h. kRefused: keys of a
  // table are admitted late, or its rows expire, or there is no memory for it.
  static Result<std::unique_ptr<EmbeddingGroup>> Open(TableStore& store,
                                                      std::span<const std::string> tables,
                                                      const Exec& exec);
  virtual ~EmbeddingGroup() = default;  // waits for the stream

  // A batch that is to be learned from. It stays as it is until Backward, or the next Forward, has
  // been called, and then until the stream has done what was enqueued. Rows that are missing answer
  // with their initial value. kRefused when a table has tiers below, and the batch more rows than
  // its part of the GPU's memory: a smaller batch helps.
  virtual Status Forward(const BagBatch& batch) = 0;
  virtual Status Forward(const RowBatch& batch) = 0;

  // Updates the rows of the last Forward at time `step` (1 or more). It is called once for each
  // Forward. After any error but kInvalid nothing was updated, and it may be tried again: kRefused
  // when rows that are new have no room, or there is no memory to bring rows up or keep them for a
  // checkpoint.
  // gradients[t]: those of the vectors of table t, of the batch's type and laid out as `out` was.
  virtual Status Backward(std::span<const void* const> gradients, uint64_t step) = 0;
  // By position, as `rows` was; a multiple of 16 bytes.
  virtual Status Backward(const float* gradients, uint64_t step) = 0;

  // As Forward, of what is not to be learned from: cheaper, if no table has tiers below. A Forward
  // before it is forgotten. Stats() of the tables do not count it.
  virtual Status LookUp(const BagBatch& batch) = 0;
};

}  // namespace strata
