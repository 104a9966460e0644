#include "bench/peers/service_peer.h"

#include <algorithm>

#include "bench/harness/workload.h"

namespace strata::bench {

Status FillRows(uint64_t rows, uint32_t dim, const PutRows& put) {
  constexpr size_t kBatch = 16'384;
  const std::vector<float> values = DrawFloats(kBatch * dim, 3);
  std::vector<Key> keys;
  for (uint64_t from = 0; from < rows; from += kBatch) {
    keys.clear();
    for (uint64_t n = from; n < std::min<uint64_t>(from + kBatch, rows); ++n) {
      keys.push_back(KeyAt(n));
    }
    STRATA_TRY(put(keys, std::span(values).first(keys.size() * dim)));
  }
  return {};
}

}  // namespace strata::bench
