// GroupBatch: a batch of keys of lent tables on one GPU, from its lookup to its update.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/sparse/misses.h"
#include "kernels/sparse/update.h"
#include "storage/gpu/device_buffer.h"
#include "storage/gpu/distinct_buffers.h"
#include "storage/gpu/lent_tables.h"
#include "strata/exec.h"
#include "strata/optimizer_spec.h"
#include "strata/status.h"

namespace strata {

// On the stream of `exec`, whose GPU is the calling thread's. Not thread-safe. Nothing waits but
// what says so.
class GroupBatch {
 public:
  explicit GroupBatch(const Exec& exec) : exec_(exec) {}
  ~GroupBatch();  // the stream has done what was enqueued
  GroupBatch(const GroupBatch&) = delete;
  GroupBatch& operator=(const GroupBatch&) = delete;

  // Once, before all else. kRefused: no memory, as of Begin.
  Status Make();
  // Combines the batch, which has counts[t] keys of table t, and fills `rows` (CombineBatch) if
  // they are not null. ready: as BagBatch has it.
  Status Begin(const LentTables& lent, const Key* keys, std::span<const uint64_t> counts,
               float* rows, void* ready);

  const std::vector<uint64_t>& keys() const { return keys_; }  // by table
  DistinctKeys distinct() const;
  // Waits until the GPU has told what the batch lacks, as it was looked for last. Before, nothing
  // else is called with the batch.
  void WaitForCounts();
  // Of table t, once it has told.
  const Misses& missing(size_t t) const;
  std::vector<uint64_t> Hits() const;  // keys that have a row, by table

  // Whether the rows are where they were found; else LocateAgain, before all that follows.
  bool IsCurrent(const LentTables& lent) const { return lent.Generations() == generations_; }
  void LocateAgain(const LentTables& lent);
  // Rows of tables without tiers below that are missing, and the GPU has told so, have room from
  // here on, and what a snapshot has still to take of the batch is kept: for that, and where a
  // table grows, it waits for the stream. kRefused: there is no room, or no memory. Then rows
  // may have moved, and it may be tried again from LocateAgain on.
  Status MakeRoom(const LentTables& lent);
  void Update(const LentTables& lent, const OptimizerSpec& optimizer, uint64_t step,
              const BatchGradients& gradients);
  // For Stats of the tables, once updated. hits: as they were at the lookup; here: those of them on
  // the GPU.
  void Note(const LentTables& lent, std::span<const uint64_t> hits,
            std::span<const uint64_t> here) const;

 private:
  struct Counts;  // as the GPU tells them
  // The distinct keys of a batch. There are two, so that one is filled while the other is in use.
  struct Combined {
    DistinctBuffers distinct;
    DeviceBuffer counts;
    void* left = nullptr;  // an event: what was enqueued with it before the other one was taken
  };
  Status Make(Combined* combined) const;
  // Combines and finds the keys on the stream beside, where that pays. Whether it did.
  Result<bool> BeginBeside(const LentTables& lent, const TableGroup& group, const Key* keys,
                           void* ready);
  Combined& current() { return combined_[current_]; }
  const Combined& current() const { return combined_[current_]; }
  void CountMissing(const Exec& exec, const TableGroup& group);
  Exec beside() const { return {exec_.device, exec_.ordinal, beside_}; }

  const Exec exec_;
  void* counted_ = nullptr;        // an event
  std::shared_ptr<float[]> host_;  // pinned, for
  Counts* counts_ = nullptr;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> generations_;  // of the tables, when rows were looked for
  Combined combined_[2];
  int current_ = 0;
  DeviceBuffer scratch_;    // of combining, then of updating
  void* beside_ = nullptr;  // a stream
  bool is_beside_ = false;  // the batch is worked on there, for all that exec_'s stream knows
  DeviceBuffer beside_scratch_;
};

}  // namespace strata
