// DevicePool: a GPU's memory for tables, taken once at the start, and arrays that grow in place
// from it: an array has a range of addresses of its own from the beginning, and memory is mapped
// behind its end (CUDA driver API, Virtual Memory Management).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"

namespace strata {

// Thread-safe: the tables of several lanes share it.
class DevicePool {
 public:
  static constexpr size_t kChunkBytes = size_t{32} << 20;

  // Takes `bytes`, rounded down to whole chunks, of GPU `device`. kNotFound when there is no
  // such GPU, kFailed when it has not so much memory free: says how much is.
  static Result<std::unique_ptr<DevicePool>> Make(int device, size_t bytes);
  // Arrays must be gone.
  ~DevicePool();

  int device() const { return device_; }
  size_t bytes() const { return chunks_ * kChunkBytes; }
  size_t bytes_free() const;

 private:
  friend class GrowingArray;
  explicit DevicePool(int device) : device_(device) {}

  // `count` handles, or none.
  std::vector<uint64_t> Take(size_t count);
  void GiveBack(uint64_t handle);

  const int device_;
  size_t chunks_ = 0;
  mutable std::mutex mutex_;
  std::vector<uint64_t> free_;  // handles; guarded by mutex_
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
  // more: then nothing has changed.
  Status Grow(size_t bytes);
  // Chunks that Grow would take from the pool.
  size_t ChunksFor(size_t bytes) const;

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  size_t bytes() const { return chunks_.size() * DevicePool::kChunkBytes; }

 private:
  DevicePool* pool_ = nullptr;
  uint64_t address_ = 0;
  size_t bytes_max_ = 0;
  std::vector<uint64_t> chunks_;
};

}  // namespace strata
