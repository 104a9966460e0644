// These functions say what becomes of work when the machine gives no memory.
//
// Work for one request ends with an error: OrOutOfMemory, or a catch of std::bad_alloc around the
// request, turns the exception into one. Work that may not end half way runs inside MustAllocate: a
// change whose record is in a log, or work that several requests share. An allocation that fails
// there is tried again with memory that was kept for this.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "strata/status.h"

namespace strata {

// What operator new does when there is nothing: std::bad_alloc, for who hands one on.
[[noreturn]] void ThrowBadAlloc();

// kRefused: "out of memory: <what>".
Status OutOfMemory(std::string_view what);

// Ends the effect of MustAllocate on this thread while it exists.
class MayFail {
 public:
  MayFail();
  ~MayFail();
  MayFail(const MayFail&) = delete;
  MayFail& operator=(const MayFail&) = delete;

 private:
  const int scopes_;
};

// What run() returns, a Status or a Result; or OutOfMemory(what). It may fail.
template <typename Run>
auto OrOutOfMemory(std::string_view what, Run&& run) -> decltype(run()) {
  try {
    const MayFail may;
    return std::forward<Run>(run)();
  } catch (const std::bad_alloc&) {
    return OutOfMemory(what);
  }
}

// While one exists on a thread, allocations of the thread that fail get the memory that KeepReserve
// has kept, and are tried again. Only if that is not enough they throw. Scopes may nest.
class MustAllocate {
 public:
  MustAllocate();
  ~MustAllocate();
  MustAllocate(const MustAllocate&) = delete;
  MustAllocate& operator=(const MustAllocate&) = delete;
};

// Keeps `bytes` of address space for MustAllocate, if they are not kept yet and can be had. A
// server calls it as it starts, and now and then. Thread-safe.
void KeepReserve(size_t bytes);
// Whether something is kept.
bool HasReserve();

}  // namespace strata
