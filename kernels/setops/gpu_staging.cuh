// Memory of the host that documents are sent to a GPU from.
#pragma once

#include <cstring>
#include <deque>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "kernels/core/cuda_status.cuh"

namespace strata::gpu_sets {

// Memory of the host that pieces are written to and copied from, each buffer again and again: few
// of them, so that they are pinned soon and stay in the processor's caches.
class Staging {
 public:
  struct Buffer {
    std::byte* data = nullptr;
    cudaEvent_t copied = nullptr;
  };

  Staging() = default;
  ~Staging() {
    for (const Buffer& buffer : buffers_) {
      if (buffer.copied == nullptr) continue;
      (void)cudaEventSynchronize(buffer.copied);
      (void)cudaEventDestroy(buffer.copied);
    }
    if (is_pinned_) (void)cudaHostUnregister(memory_);
    if (memory_ != nullptr) LargeArrayAllocator<std::byte>().deallocate(memory_, bytes_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  Status Make(size_t count, size_t buffer_bytes, WorkPool& pool) {
    constexpr size_t kHugePage = size_t{2} << 20;
    bytes_ = (count * buffer_bytes + kHugePage - 1) / kHugePage * kHugePage;
    memory_ = LargeArrayAllocator<std::byte>().allocate(bytes_);
    // Huge pages are pinned many times faster than what cudaHostAlloc gives. To be there they have
    // to be written to, which takes longer than pinning them.
    pool.RunPieces(bytes_, kHugePage,
                   [&](size_t begin, size_t end) { memset(memory_ + begin, 0, end - begin); });
    STRATA_TRY(FromAllocation(cudaHostRegister(memory_, bytes_, cudaHostRegisterPortable),
                              "memory to send documents from"));
    is_pinned_ = true;
    buffers_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      buffers_[i].data = memory_ + i * buffer_bytes;
      STRATA_TRY(FromAllocation(
          cudaEventCreateWithFlags(&buffers_[i].copied, cudaEventDisableTiming), "an event"));
      free_.push_back(&buffers_[i]);
    }
    return {};
  }
  // The one that was given back first; there has to be one. Not thread-safe, as Return.
  Buffer* Take() {
    Buffer* const buffer = free_.front();
    free_.pop_front();
    return buffer;
  }
  void Return(Buffer* buffer) { free_.push_back(buffer); }

 private:
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  bool is_pinned_ = false;
  std::vector<Buffer> buffers_;
  std::deque<Buffer*> free_;
};

}  // namespace strata::gpu_sets
