#include "cluster/collective/blocks.h"

namespace strata {

void EqualBlocks(size_t count, size_t element_bytes, int blocks, BlockOffsets* offsets) {
  const auto n = static_cast<size_t>(blocks);
  const size_t whole = count / n;
  const size_t rest = count % n;
  offsets->resize(n + 1);
  // b * count / n without the overflow of b * count.
  for (size_t b = 0; b <= n; ++b) (*offsets)[b] = (b * whole + b * rest / n) * element_bytes;
}

}  // namespace strata
