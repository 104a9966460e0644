// LargeArray: a vector whose memory begins at a cache line, and where it is large is in huge pages,
// so that what is read here and there takes fewer lines and fewer entries of the page tables.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace strata {

// Stateless: any of them frees what another one has allocated.
template <typename T>
class LargeArrayAllocator {
 public:
  using value_type = T;

  LargeArrayAllocator() = default;
  template <typename U>
  LargeArrayAllocator(const LargeArrayAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t count) {
    void* const memory = ::operator new(count * sizeof(T), AlignmentOf(count));
    if (IsLarge(count)) madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // if there are any
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) { ::operator delete(memory, AlignmentOf(count)); }

  template <typename U>
  friend bool operator==(const LargeArrayAllocator& /*a*/, const LargeArrayAllocator<U>& /*b*/) {
    return true;
  }

 private:
  static constexpr size_t kCacheLine = 64;
  static constexpr size_t kHugePage = size_t{2} << 20;
  static bool IsLarge(size_t count) { return count >= kHugePage / sizeof(T); }
  static std::align_val_t AlignmentOf(size_t count) {
    return std::align_val_t{IsLarge(count) ? kHugePage : kCacheLine};
  }
};

template <typename T>
using LargeArray = std::vector<T, LargeArrayAllocator<T>>;

}  // namespace strata
