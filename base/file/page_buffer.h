// Memory on a page boundary, as a disk wants it that is written or read past the page cache.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace strata {

constexpr size_t kDiskPageBytes = 4096;

struct FreePageBuffer {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using PageBuffer = std::unique_ptr<std::byte[], FreePageBuffer>;

// `bytes` is a multiple of kDiskPageBytes. Null: the machine has none left.
inline PageBuffer MakePageBuffer(size_t bytes) {
  return PageBuffer(static_cast<std::byte*>(std::aligned_alloc(kDiskPageBytes, bytes)));
}

}  // namespace strata
