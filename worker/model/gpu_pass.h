// GpuPass: launches that are the same whenever a batch lies in the same memory, as one CUDA graph.
// The host then enqueues them by one call, where each of some 60 takes it a few microseconds.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

// On the stream of `exec`, whose GPU is the calling thread's. Not thread-safe.
class GpuPass {
 public:
  // What the arguments of the launches depend on.
  struct Key {
    uint64_t moves = 0;  // how often memory has moved that they work on
    size_t samples = 0;
    const void* dense = nullptr;
    const void* labels = nullptr;
    const void* weights = nullptr;
    float dropout = 0;  // share

    auto operator<=>(const Key&) const = default;
  };

  explicit GpuPass(const Exec& exec) : exec_(exec) {}
  ~GpuPass();
  GpuPass(const GpuPass&) = delete;
  GpuPass& operator=(const GpuPass&) = delete;

  // Enqueues what `enqueue` does. The first time with a key it is called, the second time it is
  // recorded, and from then on the record is replayed without it. So that it may allocate and
  // measure the first time, and never after. Where there are no graphs it is called each time.
  Status Run(const Key& key, const std::function<Status()>& enqueue);

 private:
  void Forget();

  const Exec exec_;
  std::map<Key, void*> graphs_;  // of keys that came; null: once
  bool has_no_graphs_ = false;
};

}  // namespace strata
