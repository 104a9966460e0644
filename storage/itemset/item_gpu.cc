#include "storage/itemset/item_gpu.h"

#include <algorithm>

#include "base/log.h"
#include "base/thread/thread.h"
#include "kernels/core/gpu_fault.h"
#include "storage/itemset/gpu_copy.h"

namespace strata {
namespace {

// A segment of 65,536 documents of 65 tokens takes 65 MB on its way.
constexpr uint64_t kPassingLeast = uint64_t{96} << 20;
constexpr uint64_t kPassingMost = uint64_t{1} << 30;

}  // namespace

ItemGpuOptions ItemGpuOptions::Divide(int device, uint64_t bytes) {
  STRATA_CHECK(bytes >= kBytesMin);
  const uint64_t left = bytes - GpuSearchRoom::kBytes;
  const uint64_t passing = std::clamp(left / 8, kPassingLeast, kPassingMost);
  return {.device = device, .segments_bytes_max = left - passing, .passing_bytes_max = passing};
}

Result<std::unique_ptr<ItemGpu>> ItemGpu::Start(const ItemGpuOptions& options) {
  std::unique_ptr<ItemGpu> made(new ItemGpu(options));
  STRATA_ASSIGN(made->pool_, WorkPool::Start("gpu-items", 1));
  ItemGpu* const gpu = made.get();
  STRATA_ASSIGN(made->placer_,
                StartThread(
                    "gpu-items", [gpu] { gpu->PlaceUntilStopped(); }, ThreadPriority::kLow));
  return made;
}

ItemGpu::~ItemGpu() {
  const MutexLock lock(mutex_);
  stop_ = true;
  changed_.NotifyAll();
}

uint64_t ItemGpu::segments_bytes() const {
  const MutexLock lock(mutex_);
  return segments_bytes_;
}

uint64_t ItemGpu::refusals() const {
  const MutexLock lock(mutex_);
  return refusals_;
}

Result<std::unique_ptr<GpuSets>> ItemGpu::Open(const BlockSource& documents, WorkPool& pool) {
  Result<std::unique_ptr<GpuSets>> opened = [&]() -> Result<std::unique_ptr<GpuSets>> {
    if (options_.open != nullptr) return options_.open(documents, pool);
    std::shared_ptr<GpuSearchRoom> room;
    {
      const MutexLock lock(room_mutex_);
      if (room_ == nullptr) {
        STRATA_ASSIGN(room_, GpuSearchRoom::Make(options_.device));
      }
      room = room_;
    }
    return GpuSets::Open(std::move(room), documents, pool);
  }();
  CheckSearch(opened.status());
  return opened;
}

void ItemGpu::CheckSearch(const Status& status) {
  if (status.ok() || status.code() == StatusCode::kInvalid) return;
  if (status.code() != StatusCode::kRefused) EndForGpuFault(options_.device, status);
  CountRefusal(status);
}

void ItemGpu::CountRefusal(const Status& status) {
  uint64_t before = 0;
  {
    const MutexLock lock(mutex_);
    before = refusals_++;
  }
  if (before > 0) return;
  Log(LogLevel::kWarning,
      "GPU {} has no memory for a collection ({}): what it has no room for is searched on the CPU; "
      "a smaller server.gpu_memory leaves more",
      options_.device, status.message());
}

bool ItemGpu::Take(uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > options_.segments_bytes_max - segments_bytes_) return false;
  segments_bytes_ += bytes;
  return true;
}

void ItemGpu::GiveBack(uint64_t bytes) {
  const MutexLock lock(mutex_);
  STRATA_CHECK(bytes <= segments_bytes_);
  segments_bytes_ -= bytes;
}

void ItemGpu::PlaceLacking() {
  const MutexLock lock(mutex_);
  to_place_.merge(lacking_);
  lacking_.clear();
  changed_.NotifyAll();
}

void ItemGpu::NoteChanged(GpuCopy* copy) {
  const MutexLock lock(mutex_);
  to_place_.insert(copy);
  changed_.NotifyAll();
}

void ItemGpu::NoteLacking(GpuCopy* copy) {
  const MutexLock lock(mutex_);
  lacking_.insert(copy);
}

void ItemGpu::Forget(GpuCopy* copy) {
  const MutexLock lock(mutex_);
  to_place_.erase(copy);
  while (placing_ == copy) changed_.Wait(mutex_);
  to_place_.erase(copy);
  lacking_.erase(copy);
}

void ItemGpu::WaitUntilPlaced(const GpuCopy* copy) {
  const MutexLock lock(mutex_);
  while (placing_ == copy || to_place_.contains(const_cast<GpuCopy*>(copy))) {
    changed_.Wait(mutex_);
  }
}

void ItemGpu::PlaceUntilStopped() {
  MutexLock lock(mutex_);
  while (!stop_) {
    if (to_place_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    GpuCopy* const copy = *to_place_.begin();
    to_place_.erase(copy);
    placing_ = copy;
    lock.Unlock();
    copy->Place(*pool_);
    lock.Lock();
    placing_ = nullptr;
    changed_.NotifyAll();
  }
}

}  // namespace strata
