// DevicePool: a GPU's memory for tables, taken once at the start, and arrays that grow in place
// from it: an array has a range of addresses of its own from the beginning, and memory is mapped
// behind its end (CUDA driver API, Virtual Memory Management).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread/mutex.h"
#include "storage/memory/pool_shares.h"
#include "strata/status.h"

namespace strata {

// Thread-safe: the tables of several lanes share it.
class DevicePool {
 public:
  // Memory comes in chunks, which may be cut: a small table would waste whole ones.
  static constexpr size_t kChunkBytes = size_t{32} << 20;
  static constexpr size_t kPieceBytes = size_t{2} << 20;  // what CUDA maps at least

  // Takes `bytes`, rounded down to whole chunks, of GPU `device`. kNotFound when there is no
  // such GPU, kFailed when it has not so much memory free: says how much is. What arrays map of it
  // every GPU reads and writes that this process sees and that can reach `device`.
  static Result<std::unique_ptr<DevicePool>> Make(int device, size_t bytes);
  // Arrays must be gone.
  ~DevicePool();

  int device() const { return device_; }
  size_t bytes() const { return chunks_.load() * kChunkBytes; }
  size_t bytes_free() const;

  // Of tables that give back what is beyond theirs (HotTable).
  PoolShares& shares() { return shares_; }

 private:
  friend class GrowingArray;
  explicit DevicePool(int device) : device_(device), users_{device} {}

  struct Piece {
    uint64_t handle;
    size_t bytes;  // kPieceBytes or kChunkBytes
  };
  // Adds up to `pieces` of kPieceBytes and then `chunks` of kChunkBytes; where whole chunks have
  // run out, pieces. kRefused when there is not so much.
  Result<std::vector<Piece>> Take(size_t pieces, size_t chunks);
  // Where it fails the chunk is whole again, or, when another process has taken its memory
  // meanwhile, the pool has one less.
  Status CutChunk() STRATA_REQUIRES(mutex_);
  void GiveBack(const Piece& piece);

  const int device_;
  std::vector<int> users_;  // GPUs that read and write what is mapped; after Make as it is
  std::atomic<size_t> chunks_{0};
  PoolShares shares_;
  mutable Mutex mutex_;
  std::vector<uint64_t> free_chunks_ STRATA_GUARDED_BY(mutex_);  // handles
  std::vector<uint64_t> free_pieces_ STRATA_GUARDED_BY(mutex_);  // likewise
};

// Not thread-safe.
class GrowingArray {
 public:
  GrowingArray() = default;
  ~GrowingArray();
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;

  // Once. Addresses for up to `bytes_max`, no memory yet. The pool outlives the array.
  Status Reserve(DevicePool& pool, size_t bytes_max);
  // Memory for the first `bytes`; what is mapped stays where it is. kRefused when the pool has no
  // more. Where it fails nothing has changed.
  Status Grow(size_t bytes);
  // What is mapped once it has grown to `bytes`: pieces up to a chunk, whole chunks from then on.
  static size_t BytesFor(size_t bytes);

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  size_t bytes() const { return bytes_; }

 private:
  Status MapBehind(const std::vector<DevicePool::Piece>& pieces);  // all of them, or none

  DevicePool* pool_ = nullptr;
  uint64_t address_ = 0;
  size_t bytes_max_ = 0;
  size_t bytes_ = 0;
  std::vector<DevicePool::Piece> pieces_;
};

}  // namespace strata
