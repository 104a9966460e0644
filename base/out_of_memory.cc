#include "base/out_of_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <utility>

#include "base/thread/mutex.h"

namespace strata {
namespace {

thread_local int must_allocate = 0;

// No lock is taken where an allocation fails: it may fail anywhere.
struct Reserve {
  std::atomic<void*> memory = nullptr;
  std::atomic<size_t> bytes = 0;
  Mutex keeping;  // held by KeepReserve
};
Reserve& TheReserve() {
  static Reserve reserve;
  return reserve;
}

bool GiveReserve() {
  Reserve& reserve = TheReserve();
  void* const memory = reserve.memory.exchange(nullptr);
  if (memory == nullptr) return false;
  munmap(memory, reserve.bytes);
  return true;
}

// operator new calls this until it has memory or an exception.
void OnFailedAllocation() {
  if (must_allocate > 0 && GiveReserve()) return;
  ThrowBadAlloc();
}

}  // namespace

void ThrowBadAlloc() { throw std::bad_alloc(); }

Status OutOfMemory(std::string_view what) {
  return Refused(
      fmt::format("out of memory: {}; ask for less at a time, or give the machine more", what));
}

MustAllocate::MustAllocate() { ++must_allocate; }
MustAllocate::~MustAllocate() { --must_allocate; }

MayFail::MayFail() : scopes_(std::exchange(must_allocate, 0)) {}
MayFail::~MayFail() { must_allocate += scopes_; }  // a scope within may be open still

void KeepReserve(size_t bytes) {
  Reserve& reserve = TheReserve();
  const MutexLock lock(reserve.keeping);
  std::set_new_handler(OnFailedAllocation);
  if (reserve.memory != nullptr) return;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  reserve.bytes = bytes;
  reserve.memory = memory;
}

bool HasReserve() { return TheReserve().memory != nullptr; }

}  // namespace strata
