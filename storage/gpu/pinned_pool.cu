#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "storage/gpu/pinned_pool.h"

namespace strata {

PinnedPool::~PinnedPool() {
  for (float* piece : pieces_) (void)cudaFreeHost(piece);
}

std::shared_ptr<float[]> PinnedPool::Take(size_t count) {
  constexpr size_t kLeast = 4096;
  const size_t bytes = std::bit_ceil(std::max(count * sizeof(float), kLeast));
  float* memory = TakeFree(bytes);
  if (memory == nullptr) memory = Pin(bytes);
  if (memory == nullptr) return std::make_shared_for_overwrite<float[]>(count);
  return {memory,
          [pool = shared_from_this(), bytes](float* block) { pool->GiveBack(block, bytes); }};
}

float* PinnedPool::TakeFree(size_t bytes) {
  const MutexLock lock(mutex_);
  std::vector<float*>& blocks = free_[bytes];
  if (blocks.empty()) return nullptr;
  float* const block = blocks.back();
  blocks.pop_back();
  return block;
}

float* PinnedPool::Pin(size_t bytes) {
  const size_t piece_bytes = std::max(bytes, kPieceBytes);
  float* piece = nullptr;
  if (cudaHostAlloc(&piece, piece_bytes, cudaHostAllocPortable) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  const MutexLock lock(mutex_);
  pieces_.push_back(piece);
  for (size_t at = bytes; at < piece_bytes; at += bytes) {
    free_[bytes].push_back(piece + at / sizeof(float));
  }
  return piece;
}

void PinnedPool::GiveBack(float* memory, size_t bytes) {
  const MutexLock lock(mutex_);
  free_[bytes].push_back(memory);
}

}  // namespace strata
