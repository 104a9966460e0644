// KeysDown: keys on their way from the GPU to the host, for the table below.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "storage/gpu/pinned_pool.h"
#include "storage/table.h"
#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe, but for Await.
class KeysDown {
 public:
  KeysDown() = default;
  ~KeysDown();  // no copy is under way
  KeysDown(const KeysDown&) = delete;
  KeysDown& operator=(const KeysDown&) = delete;

  // Begins to copy keys of the GPU's memory: the first of them, then all others.
  Status Bring(const Exec& exec, PinnedPool& host, std::span<const Key> keys);
  // Waits until the first `count` of them are here. Any thread; at least one key comes.
  void Await(size_t count) const;
  // The first `count` of them, in pinned memory.
  std::span<const Key> first(size_t count) const { return {keys(), count}; }
  void Swap(KeysDown& other);

 private:
  Key* keys() const { return reinterpret_cast<Key*>(memory_.get()); }
  void BringPart(const Exec& exec, std::span<const Key> keys, size_t at, void* here);

  std::shared_ptr<float[]> memory_;
  size_t most_ = 0;             // keys that there is memory for
  void* first_here_ = nullptr;  // cudaEvent_t
  void* all_here_ = nullptr;
};

}  // namespace strata
