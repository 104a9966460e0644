// SpreadGroup: tables whose rows are spread over the GPUs of one host by key, as a model that has a
// replica on each of them uses them. An EmbeddingGroup (embedding_group.h) over several GPUs: each
// is a rank, whose replica brings a batch of its own, and the owner of the rows of some shards.
//
// Each GPU has a store of its own, with the same tables in all of them. A row lies in the store of
// the GPU that owns its shard; whoever computes reads the others' memory over the links between
// GPUs, and nothing is staged. One thread drives all GPUs:
//
//   group->Forward(batches);            // rows in, vectors out, on each GPU's stream
//   ...                                 // the model, on all streams
//   group->Backward(gradients, step);
//
// Forward waits for what each GPU has counted of its batch, and so for all that was enqueued on
// its stream before; no table is locked meanwhile. Backward waits for counts that Forward left, and
// otherwise where an EmbeddingGroup's does. In each call the streams wait for one another: what is
// enqueued on one of them afterwards comes behind what the call does on all. So memory that the
// call reads may be written again in a stream's order, as on one GPU.
//
// What the tables hold, all stores together, is equal to the bit to what one store makes of the
// ranks' batches one behind the other, each rank a part (GradientPart). Others may read and write
// the tables at any time, also between the two; who does has to know the owner of each key.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/exec.h"
#include "strata/gpu/bags.h"
#include "strata/status.h"
#include "strata/table_store.h"

namespace strata {

// Not thread-safe; several groups may share tables, and no two ever wait for each other's locks.
class SpreadGroup {
 public:
  // The GPU of each shard (the highest ten bits of Mix64 of a key), by its place in the group: even
  // runs of shards, as a cluster begins with.
  static std::vector<uint16_t> EvenShards(size_t gpus);

  // The store i keeps its tables on the GPU of execs[i], whose stream is that of all work there;
  // at most kRanksMax, and all have the tables `tables` with the same definitions. Stores and
  // streams outlive the group. owner_of_shard: a number below stores.size() for each shard; empty:
  // EvenShards. Rows that lie in a store which does not own their shard are never looked at. The
  // GPUs read each other's memory from here on (cudaDeviceEnablePeerAccess).
  //
  // kInvalid where stores, GPUs or tables cannot be one group: says which, and why. kNotFound: a
  // table, or a GPU, is not there. kRefused: a table has tiers below the GPU's memory (and with
  // them late admission, or rows that expire), or its store has no memory for its first rows,
  // or there is none for the group. kFailed: a GPU cannot read the memory of another.
  static Result<std::unique_ptr<SpreadGroup>> Open(std::span<TableStore* const> stores,
                                                   std::span<const std::string> tables,
                                                   std::span<const Exec> execs,
                                                   std::span<const uint16_t> owner_of_shard = {});
  virtual ~SpreadGroup() = default;  // waits for the streams

  // batches[i]: those of GPU i, in its memory; all of one type, at most 2^31 - 2 keys together.
  // They stay as they are until Backward, or the next Forward, has been called, and then until
  // their streams have done what was enqueued. kRefused: no memory. Then there is nothing to go
  // Backward from.
  virtual Status Forward(std::span<const BagBatch> batches) = 0;

  // Updates the rows of the last Forward at time `step` (1 or more). Once for each. After any error
  // but kInvalid nothing was updated, and it may be tried again: kRefused when rows that are new
  // have no room on their owner, or there is no memory to keep rows for a checkpoint.
  // gradients[i][t]: those of the vectors of table t on GPU i, of the batches' type and laid out as
  // `out` was; memory of cudaMalloc, which the other GPUs can read.
  virtual Status Backward(std::span<const std::span<const void* const>> gradients,
                          uint64_t step) = 0;

  // As Forward, of what is not to be learned from: waits only until the streams have come to the
  // call before. A Forward before it is forgotten. Stats() of the tables do not count it.
  virtual Status LookUp(std::span<const BagBatch> batches) = 0;
};

}  // namespace strata
