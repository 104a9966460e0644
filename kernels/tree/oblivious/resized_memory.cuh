// ResizedMemory: memory of a GPU whose size follows from what is put into it.
#pragma once

#include <memory>
#include <utility>

#include "kernels/core/device_memory.cuh"

namespace strata::gpu_tree {

// Memory that is made anew when it is too small. What was in it is lost then.
template <typename T>
class ResizedMemory {
 public:
  Status Reserve(size_t count, const char* what) {
    if (memory_ != nullptr && memory_->size() >= count) return {};
    memory_.reset();
    auto made = std::make_unique<DeviceMemory<T>>();
    STRATA_TRY(made->Make(count, what));
    memory_ = std::move(made);
    return {};
  }
  T* data() const { return memory_ == nullptr ? nullptr : memory_->data(); }
  DeviceMemory<T>& memory() { return *memory_; }

 private:
  std::unique_ptr<DeviceMemory<T>> memory_;
};

}  // namespace strata::gpu_tree
