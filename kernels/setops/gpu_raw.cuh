// Blocks of documents as they come to a GPU, and arrays side by side in one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata::gpu_sets {

// A block as it came (BlockPlaces).
template <typename Number>
struct Raw {
  const uint32_t* offsets;
  const uint32_t* sources;
  const Number* tokens;
};

// Bytes that arrays take one behind another.
class Layout {
 public:
  template <typename T>
  size_t Add(size_t count) {
    constexpr size_t kAlignment = 256;
    const size_t at = bytes_;
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

}  // namespace strata::gpu_sets
