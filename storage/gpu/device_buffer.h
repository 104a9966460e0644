// DeviceBuffer: memory of a GPU that is used again and again, and grows to what was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/status.h"

namespace strata {

// Of the calling thread's GPU. Not thread-safe.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // Room for `bytes`; what it held is lost when it grows. kRefused when the GPU has no more.
  Status Reserve(size_t bytes);
  template <typename T>
  Status ReserveFor(size_t count) {
    return Reserve(count * sizeof(T));
  }
  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::span<std::byte> all() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace strata
