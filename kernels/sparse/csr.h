// A batch as readers make it, sample after sample, turned on a GPU into what tables take: the bags
// of each table together, its keys behind those of the table before it (TableGroup).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/exec.h"

namespace strata {

constexpr uint32_t kSplitTablesMax = 64;
constexpr uint32_t kSplitSlotsMax = 2048;  // of all tables together

// Keys of slot s of sample i: keys[offsets[b]] to keys[offsets[b + 1] - 1], b = i * slots + s.
// offsets begin at 0; null: each bag is one key, keys[b]. Device memory.
struct SampleBatch {
  const uint64_t* keys = nullptr;
  const uint32_t* offsets = nullptr;
  uint64_t samples = 0;
  uint32_t slots = 0;
};

// What a table takes: these slots of each sample, in this order; one or more. Host memory. A slot
// may belong to several tables or to none.
struct TableSlots {
  std::span<const uint32_t> slots;
  // Out, in device memory: for each bag, sample by sample, and one more, as PooledTable has them.
  // Null where batch.offsets are, if nobody asks.
  uint32_t* offsets = nullptr;
};

// keys: those of table 0, then of table 1, ..., in the order of their bags; less than 2^32 of them.
// counts[t]: of table t. Both are device memory. `scratch`: SplitScratchBytes. The same batch gives
// the same result. Allocates nothing and does not synchronise.
void SplitByTable(const Exec& exec, const SampleBatch& batch, std::span<const TableSlots> tables,
                  uint64_t* keys, uint32_t* counts, std::span<std::byte> scratch);
// bags: of all tables together, samples x slots each; 2^31 - 2 at most.
size_t SplitScratchBytes(uint64_t bags);

}  // namespace strata
