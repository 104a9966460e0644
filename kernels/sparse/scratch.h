// Scratch memory that a caller passes in, cut into what a call needs of it.
#pragma once

#include <cstddef>
#include <span>

#include "strata/status.h"

namespace strata {

constexpr size_t kScratchAlign = 256;
constexpr size_t ScratchAligned(size_t bytes) {
  return (bytes + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
}

class Scratch {
 public:
  explicit Scratch(std::span<std::byte> bytes) : left_(bytes) {}

  // The next `count` elements, aligned to kScratchAlign where the whole is.
  template <typename T>
  T* Take(size_t count) {
    const size_t bytes = ScratchAligned(count * sizeof(T));
    STRATA_CHECK(bytes <= left_.size());
    auto* taken = reinterpret_cast<T*>(left_.data());
    left_ = left_.subspan(bytes);
    return taken;
  }

 private:
  std::span<std::byte> left_;
};

}  // namespace strata
