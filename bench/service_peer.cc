#include "bench/service_peer.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "bench/workload.h"

namespace strata::bench {

Result<ScratchFolder> ScratchFolder::Make() {
  std::string path = "/tmp/strata-bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return Failed("cannot make a folder below /tmp");
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

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
