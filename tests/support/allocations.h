// What operator new gives in this program, counted, and allocations that fail on purpose. Links a
// replacement of the global operator new.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata::test {

// The most bytes of operator new that were held at a time since it was made, beyond those at first.
class PeakMemory {
 public:
  PeakMemory();
  size_t bytes() const;

 private:
  size_t held_;
};

// Of this thread: the n-th allocation from now on (0: the next) has no memory, once.
void FailAllocation(uint64_t n);
// Likewise all of so many bytes and more, until AllocationsWork.
void FailLargeAllocations(size_t bytes);
// From now on none fails that has not failed yet. Whether one has since FailAllocation or
// FailLargeAllocations.
bool AllocationsWork();

}  // namespace strata::test
