// PinnedPool: host memory that GPUs copy to and from at the speed of the link. Taking it from the
// system is slow, and waits for the GPU: small blocks are cut from larger pieces, and what was
// given back is given out again.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "base/thread/mutex.h"

namespace strata {

// Thread-safe. Memory that is out keeps the pool alive.
class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  static std::shared_ptr<PinnedPool> Make() {
    return std::shared_ptr<PinnedPool>(new PinnedPool());
  }
  ~PinnedPool();

  // Room for `count` floats, which hold anything; given back by the last owner, on any thread.
  // Where the system pins no more it is ordinary memory.
  std::shared_ptr<float[]> Take(size_t count);

 private:
  static constexpr size_t kPieceBytes = size_t{1} << 20;  // or one larger block

  PinnedPool() = default;
  float* TakeFree(size_t bytes);  // null: there is none
  float* Pin(size_t bytes);       // null: the system pins no more
  void GiveBack(float* memory, size_t bytes);

  Mutex mutex_;
  std::vector<float*> pieces_ STRATA_GUARDED_BY(mutex_);
  std::map<size_t, std::vector<float*>> free_ STRATA_GUARDED_BY(mutex_);  // by bytes
};

}  // namespace strata
