// The keys of a batch, each once, and where in the batch it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/core/exec.h"

namespace strata {

// Device memory; each array has room for the batch, `starts` for one more.
struct DistinctKeys {
  uint64_t* keys = nullptr;   // ascending
  uint32_t* order = nullptr;  // positions of keys[j]: order[starts[j]] to order[starts[j + 1] - 1],
  uint32_t* starts = nullptr;  // ascending
  uint32_t* lasts = nullptr;   // the last of them
  uint32_t* count = nullptr;   // of distinct keys
};

// By a stable radix sort (CUB). `scratch`: CombineScratchBytes of as many keys. Batches have at
// most 2^31 - 1 keys. Allocates nothing and does not synchronise.
void CombineKeys(const Exec& exec, std::span<const uint64_t> keys, const DistinctKeys& out,
                 std::span<std::byte> scratch);
size_t CombineScratchBytes(size_t keys);

}  // namespace strata
