#include "tests/support/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace strata::test {
namespace {

constexpr uint64_t kNever = UINT64_MAX;

std::atomic<size_t> held{0};
std::atomic<size_t> peak{0};
thread_local uint64_t fail_in = kNever;
thread_local size_t fail_from = SIZE_MAX;
thread_local bool has_failed = false;

bool MustFail(size_t bytes) {
  bool fails = bytes >= fail_from;
  if (fail_in != kNever && fail_in-- == 0) {
    fail_in = kNever;
    fails = true;
  }
  has_failed |= fails;
  return fails;
}

void* Take(size_t bytes, size_t alignment) {
  bool fails = MustFail(bytes);
  while (true) {
    void* const memory =
        fails ? nullptr
        : alignment <= alignof(max_align_t)
            ? malloc(std::max<size_t>(bytes, 1))
            : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr) {
      const size_t now = held += malloc_usable_size(memory);
      size_t most = peak;
      while (most < now && !peak.compare_exchange_weak(most, now)) {
      }
      return memory;
    }
    fails = bytes >= fail_from;  // a single one works when it is tried again
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* TakeOrNull(size_t bytes) {
  try {
    return Take(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Give(void* memory) {
  if (memory == nullptr) return;
  held -= malloc_usable_size(memory);
  free(memory);
}

}  // namespace

PeakMemory::PeakMemory() : held_(held) { peak = held_; }
size_t PeakMemory::bytes() const { return std::max(peak.load(), held_) - held_; }

void FailAllocation(uint64_t n) {
  has_failed = false;
  fail_in = n;
}

void FailLargeAllocations(size_t bytes) {
  has_failed = false;
  fail_from = bytes;
}

bool AllocationsWork() {
  fail_in = kNever;
  fail_from = SIZE_MAX;
  return has_failed;
}

}  // namespace strata::test

void* operator new(size_t bytes) { return strata::test::Take(bytes, 1); }
void* operator new[](size_t bytes) { return strata::test::Take(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return strata::test::Take(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return strata::test::Take(bytes, static_cast<size_t>(alignment));
}
// Sanitizers have their own of these, too, and would find what one gave and another took back.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return strata::test::TakeOrNull(bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return strata::test::TakeOrNull(bytes);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { strata::test::Give(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { strata::test::Give(memory); }
void operator delete(void* memory) noexcept { strata::test::Give(memory); }
void operator delete[](void* memory) noexcept { strata::test::Give(memory); }
void operator delete(void* memory, size_t) noexcept { strata::test::Give(memory); }
void operator delete[](void* memory, size_t) noexcept { strata::test::Give(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { strata::test::Give(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { strata::test::Give(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  strata::test::Give(memory);
}
void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  strata::test::Give(memory);
}
