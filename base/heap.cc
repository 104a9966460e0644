#include "base/heap.h"

#include <malloc.h>

namespace strata {

void KeepFreedMemory() {
  constexpr int kKeptBytes = 8 << 20;
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

}  // namespace strata
