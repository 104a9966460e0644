#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "storage/gpu/pinned_pool.h"

namespace strata {

PinnedPool::~PinnedPool() {
  for (const auto& [bytes, blocks] : free_) {
    for (float* block : blocks) (void)cudaFreeHost(block);
  }
}

std::shared_ptr<float[]> PinnedPool::Take(size_t count) {
  constexpr size_t kLeast = 4096;
  const size_t bytes = std::bit_ceil(std::max(count * sizeof(float), kLeast));
  float* memory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::vector<float*>& blocks = free_[bytes];
    if (!blocks.empty()) {
      memory = blocks.back();
      blocks.pop_back();
    }
  }
  if (memory == nullptr && cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) {
    (void)cudaGetLastError();
    return std::make_shared_for_overwrite<float[]>(count);
  }
  return {memory,
          [pool = shared_from_this(), bytes](float* block) { pool->GiveBack(block, bytes); }};
}

void PinnedPool::GiveBack(float* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_[bytes].push_back(memory);
}

}  // namespace strata
