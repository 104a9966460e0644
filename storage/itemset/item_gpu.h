// ItemGpu: a GPU as the collections of a process use it. It has a part of the GPU's memory: some
// for searches, some that documents pass through which have no place there, and the rest for
// segments, which a thread of its own brings there beside searches (gpu_copy.h).
//
// A GPU that has failed ends the process (70). Memory that there is not is no failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/thread/mutex.h"
#include "base/thread/work_pool.h"
#include "kernels/setops/gpu_sets.h"
#include "strata/status.h"

namespace strata {

class GpuCopy;

// Of the GPU's memory: what searches take (GpuSearchRoom) is not in it.
struct ItemGpuOptions {
  int device = 0;
  uint64_t segments_bytes_max = 0;
  uint64_t passing_bytes_max = 0;  // of documents that pass through
  // Who brings documents there; null: GpuSets::Open, in one room.
  std::function<Result<std::unique_ptr<GpuSets>>(const BlockSource&, WorkPool&)> open = {};

  // Less is of no use to collections.
  static constexpr uint64_t kBytesMin = GpuSearchRoom::kBytes + (uint64_t{256} << 20);
  // So many bytes, divided among all of it; at least kBytesMin.
  static ItemGpuOptions Divide(int device, uint64_t bytes);
};

// Thread-safe. Outlives the collections.
class ItemGpu {
 public:
  // Nothing is asked of the GPU before there are documents.
  static Result<std::unique_ptr<ItemGpu>> Start(const ItemGpuOptions& options);
  ~ItemGpu();  // the copies are gone

  const ItemGpuOptions& options() const { return options_; }
  // That segments have taken.
  uint64_t segments_bytes() const;

  // Documents in the GPU's memory. kRefused: it has not so much; that is counted, and the first
  // time is a line in the log.
  Result<std::unique_ptr<GpuSets>> Open(const BlockSource& documents, WorkPool& pool);
  // What a search came to: a GPU that has failed ends the process.
  void CheckSearch(const Status& status);
  // Times that its memory did not do.
  uint64_t refusals() const;

  // A part of the memory for segments. False: there is not so much left.
  bool Take(uint64_t bytes);
  void GiveBack(uint64_t bytes);

  // Whoever has documents pass through holds it meanwhile.
  Mutex& passing() STRATA_RETURN_CAPABILITY(passing_) { return passing_; }

 private:
  friend class GpuCopy;
  explicit ItemGpu(const ItemGpuOptions& options) : options_(options) {}

  // The thread calls Place of those that have changed.
  void NoteChanged(GpuCopy* copy);
  void Forget(GpuCopy* copy);  // returns when it is not placed any more
  void WaitUntilPlaced(const GpuCopy* copy);
  void NoteLacking(GpuCopy* copy);  // PlaceLacking counts it
  void PlaceLacking();              // there is memory for those that it was lacking for
  void PlaceUntilStopped();
  void CountRefusal(const Status& status);

  const ItemGpuOptions options_;
  std::unique_ptr<WorkPool> pool_;  // of the thread

  Mutex room_mutex_;
  std::shared_ptr<GpuSearchRoom> room_ STRATA_GUARDED_BY(room_mutex_);  // null: not made yet
  Mutex passing_;

  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t segments_bytes_ STRATA_GUARDED_BY(mutex_) = 0;
  uint64_t refusals_ STRATA_GUARDED_BY(mutex_) = 0;
  std::set<GpuCopy*> to_place_ STRATA_GUARDED_BY(mutex_);
  std::set<GpuCopy*> lacking_ STRATA_GUARDED_BY(mutex_);
  const GpuCopy* placing_ STRATA_GUARDED_BY(mutex_) = nullptr;
  bool stop_ STRATA_GUARDED_BY(mutex_) = false;

  std::jthread placer_;  // last: it ends before what it uses
};

}  // namespace strata
