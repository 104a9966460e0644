// GpuTable: a table in the memory of one GPU. Keys and rows come and go through host memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/sparse/batch.h"
#include "kernels/sparse/update.h"
#include "storage/gpu/device_buffer.h"
#include "storage/gpu/device_map.h"
#include "storage/gpu/distinct_buffers.h"
#include "storage/gpu/pinned_pool.h"
#include "storage/gpu/taken_rows.h"
#include "storage/memory/local_table.h"
#include "strata/exec.h"
#include "strata/gpu/hash_map.h"

namespace strata {

// Not thread-safe: it belongs to one lane, or to a store that locks it. What each call does is
// written at LocalTable. A write has returned once it is enqueued; whatever comes later sees it.
// Gradients and values are fastest in pinned memory (RoomForRows). A batch of 2^31 - 1 keys or more
// is kInvalid. A scan goes as DeviceMap::WalkFrom, and its cursor is the walk's. That a batch finds
// no memory is kRefused where nothing has changed yet. A fault of the GPU ends the process (70):
// nothing can be asked of it any more.
class GpuTable : public LocalTable {
 public:
  // `spec` has passed ValidateTableSpec. The pool outlives the table. Memory is taken with the
  // first row, or when the table is first lent.
  GpuTable(const TableSpec& spec, DevicePool& pool, std::shared_ptr<PinnedPool> host);
  ~GpuTable() override;

  const TableSpec& spec() const override { return spec_; }
  bool PrefersLargeBatches() const override { return true; }
  std::shared_ptr<float[]> RoomForRows(size_t elements) const override {
    return host_->Take(elements);
  }
  bool ReadsInPlace(std::span<const float> rows) const override;
  Status Lookup(std::span<const Key> keys, std::span<float> out) override;
  Status PrepareUpdate(std::span<const GradientPart> parts) override;
  void CommitUpdate(uint64_t step) override;
  // Rows of fp32 alone: others are rounded with each update.
  Status PrepareUpdates(std::span<const GradientPart> updates) override;
  void CommitUpdates(std::span<const uint64_t> steps) override;
  Status PrepareAssign(std::span<const Key> keys, std::span<const float> values) override;
  void CommitAssign() override;
  Status PrepareErase(std::span<const Key> keys) override;
  uint64_t CommitErase() override;
  Status Scan(ScanPage& page) const override;
  TableStats Stats() const override;

  // For a model on the same GPU that works on the rows where they lie, over a stream of its own
  // (EmbeddingGroup). Each turn begins with Lend, which readies the map: the stream of `exec` waits
  // for what the table has enqueued. It ends with TakeBack: the table waits for `done`, an event.
  // Between the two nothing else is called but what stands here.
  virtual Status Lend(const Exec& exec);
  void TakeBack(void* done);
  int ordinal() const { return exec_.ordinal; }  // of the GPU
  const MapRef& map() const { return map_->ref(); }
  virtual RowStart Start() const;  // of rows that are made
  // Another one than before: rows may have come, gone or moved. No two tables of a process ever
  // have the same.
  uint64_t generation() const { return generation_; }
  // Before the model makes rows: there is room for them. Enqueued on the stream of `exec`. Rows may
  // move.
  Status MakeRoomFor(const Exec& exec, uint64_t rows);
  // Rows may lie in tiers below: then, before the model works on a batch, MakeResident brings up
  // those of the distinct `keys`, which the map does not have, and makes room for the others. None
  // of the rows at `places` goes meanwhile. The keys lie on the GPU, which has done all that was
  // enqueued to find them. kRefused when not all of them fit at once: nothing has been lost.
  virtual bool HasTiersBelow() const { return false; }
  virtual Status MakeResident(std::span<const uint64_t> places, std::span<const Key> keys);
  // Before the model writes to the rows of `count` keys, which lie on the GPU, have all come there,
  // and need not all be the table's.
  Status KeepForSnapshot(const Key* keys, size_t count);
  // What the model has done, for Stats. Of the keys that were looked up `hits` have a row, `here`
  // of them had it in the map.
  virtual void NoteLookup(uint64_t keys, uint64_t hits, uint64_t here);
  void NoteUpdate(uint64_t keys);

 protected:
  void BeginGeneration();  // before rows come, go or move

  // Rows that a snapshot has still to take are marked in the map; one that is written to before its
  // turn goes to host memory first. The copies are not counted in the pool; Stats().bytes holds
  // them.
  void MarkForSnapshot(uint32_t held) override;
  Status TakeForSnapshot(ScanPage& page) override;
  void UnmarkForSnapshot() override;
  Status LoadRows(const ScanPage& page) override;

  // What a table with tiers below does otherwise.
  virtual DeviceMapOptions MapOptions() const;
  virtual Status MakeRoom();      // for the distinct keys of the batch
  virtual void BeforeUpdate() {}  // in CommitUpdate: cannot fail

  virtual Status MakeMap();
  // kInvalid: so many keys do not go into one batch (kernels/sparse/batch.h).
  Status CheckBatch(size_t keys) const;
  // For a batch of so many keys that brings so many elements.
  Status ReserveFor(size_t keys, size_t elements);
  // For rows of a lookup, in out_: what was never written is zero.
  Status ReserveOut(size_t elements);
  TableGroup GroupOf(size_t keys) const;  // this table alone, with a batch of so many
  void Combine(const Key* keys, size_t count);
  // Begins to copy them to keys_, from `at` on. From host memory they go by pinned memory, as a
  // copy of many from elsewhere would wait for the update before.
  void StageKeys(std::span<const Key> keys, size_t at);
  void LocateDistinct();                 // again, as rows have moved
  BatchGradients Gradients() const;      // those of the batch
  void BringAside(const RowList& list);  // for a snapshot
  MissList misses() const;
  size_t width() const { return spec_.dim + schema_.state_width; }
  size_t words() const { return schema_.stored_words(); }  // of a row, as it is stored

  const TableSpec spec_;
  const RowSchema schema_;
  DevicePool& pool_;
  const std::shared_ptr<PinnedPool> host_;
  Exec exec_;
  std::unique_ptr<DeviceMap> map_;  // null: no row was ever made
  void* lent_ = nullptr;            // an event
  uint64_t generation_ = 0;
  TableStats stats_;

  std::shared_ptr<float[]> staged_;  // keys on their way to the GPU
  size_t staged_max_ = 0;

  // Of a batch, on the GPU.
  DeviceBuffer keys_;
  DeviceBuffer in_;
  DeviceBuffer out_;
  DistinctBuffers distinct_buffers_;
  DeviceBuffer scratch_;
  DeviceBuffer update_scratch_;
  DeviceBuffer part_ends_;
  DeviceBuffer headers_;
  DeviceBuffer counters_;
  mutable TakenRows taken_{exec_, schema_, *host_};
  mutable DeviceBuffer walk_;

  // Between Prepare and Commit.
  DistinctKeys distinct_;  // in distinct_buffers_
  uint32_t distinct_count_ = 0;
  uint32_t missing_count_ = 0;  // of them
  size_t occurrences_ = 0;
  std::vector<uint32_t> part_ends_here_;  // what part_ends_ has
  std::span<const Key> erase_keys_;

  uint64_t snapshot_next_ = 0;  // pairs below have been taken
};

}  // namespace strata
