// GpuBatch: a batch in a GPU's memory, brought there while the GPU works on another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "storage/gpu/device_buffer.h"
#include "storage/gpu/pinned_pool.h"
#include "strata/exec.h"
#include "strata/row.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/keys_by_table.h"
#include "worker/data/batch/unique_keys.h"

namespace strata {

// GpuKeys names the keys of one table in device memory: those of its slots, sample after sample.
struct GpuKeys {
  size_t count = 0;
  const Key* keys = nullptr;        // null: they came as numbers
  const uint32_t* index = nullptr;  // those, of rows of the table; null: they came as keys
  // samples * slots of the table + 1, from 0 on; null: each bag has one key
  const uint32_t* offsets = nullptr;
  const float* weights = nullptr;  // by key; null: all are 1
};

// One thread at a time, whose GPU is that of `exec`; Bring may run on another one than the rest.
class GpuBatch {
 public:
  // Work with the batch runs on the stream of `exec`; `copies` is the stream that brings it, and
  // `threads` help to. table_slots: LayerGraph has them. All outlive the batch.
  GpuBatch(const Exec& exec, void* copies, WorkPool& threads, std::span<const uint32_t> table_slots)
      : exec_(exec), copies_(copies), threads_(threads), by_table_(table_slots, threads) {}
  ~GpuBatch();
  GpuBatch(const GpuBatch&) = delete;
  GpuBatch& operator=(const GpuBatch&) = delete;
  // Once, before all else.
  Status Make();

  // Begins to bring it, once what was enqueued with the batch before it is through. `key_weights`
  // by key take the place of the batch's; empty: all are 1. With `unique`, of a batch whose rows
  // lie on the GPU by themselves, keys come as the numbers of their rows, unique->index. All of
  // them may change when this returns. kRefused: the GPU has no memory for it.
  Status Bring(const Batch& batch, std::span<const float> key_weights,
               const UniqueKeys* unique = nullptr);
  // What is enqueued from here on, on the stream of `exec`, comes after the copies.
  void Begin() const;
  // The event after which all of it is there.
  void* copied() const { return copied_; }
  // What was enqueued until now is all that uses the batch.
  void End() const;

  size_t samples() const { return samples_; }
  size_t slots() const { return slots_; }
  const GpuKeys& keys(size_t table) const { return keys_[table]; }
  const float* dense() const { return dense_; }
  const float* labels() const { return labels_; }
  const float* weights() const { return weights_; }  // of samples

 private:
  const Exec exec_;
  void* const copies_;
  WorkPool& threads_;
  void* copied_ = nullptr;  // an event of copies_
  void* used_ = nullptr;    // and one of exec_
  std::shared_ptr<PinnedPool> pool_ = PinnedPool::Make();
  std::shared_ptr<float[]> staging_;
  size_t staging_bytes_ = 0;
  DeviceBuffer memory_;
  KeysByTable by_table_;
  std::vector<Key> ordered_keys_;  // as by_table_ orders them
  std::vector<uint32_t> ordered_index_;
  std::vector<float> ordered_weights_;

  size_t samples_ = 0;
  size_t slots_ = 0;
  std::vector<GpuKeys> keys_;  // by table
  const float* dense_ = nullptr;
  const float* labels_ = nullptr;
  const float* weights_ = nullptr;
};

}  // namespace strata
