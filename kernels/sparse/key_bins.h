// The distinct keys of a large batch on a GPU, by bins. A table's keys are dealt into bins by their
// hash, in the order of the batch, and a block of threads combines a bin in its shared memory. Keys
// that a sample of the batch says come often have a bin each, with nothing left to combine: by
// Zipf's law the first hundred are half of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/sparse/batch.h"
#include "kernels/sparse/table_group.h"
#include "strata/exec.h"

namespace strata {

// Which bins there are, as kernels take it by value. A table's come behind those of the tables
// before it: by hash first, in the order by home, then those of one key.
struct BinPlan {
  static constexpr uint32_t kBinKeys = 832;  // of a bin by hash, by and large
  static constexpr uint32_t kOwn = 1024;     // keys with a bin of their own, of all tables
  static constexpr uint32_t kOwnLeast = 8;   // of a table, may be
  static constexpr uint32_t kTileKeys = 13'312;
  static constexpr uint32_t kBinsMax = 5'600;  // that a block of threads can count

  struct Table {
    uint32_t first_key = 0;  // of the batch
    uint32_t first_bin = 0;
    uint32_t by_hash = 0;  // bins
    uint32_t own = 0;      // bins
    uint32_t first_block = 0;
    uint64_t home_seed = 0;

    STRATA_HD uint64_t HomeOf(uint64_t key) const { return SeededMix(key, home_seed); }
  };

  uint32_t count = 0;  // of tables
  uint32_t keys = 0;
  uint32_t tiles = 0;   // of kTileKeys keys
  uint32_t bins = 0;    // a multiple of two
  uint32_t blocks = 0;  // of threads: one for each bin by hash, and one for a table's other ones
  Table tables[kGroupTablesMax];

  explicit BinPlan(const TableGroup& group);
  // Whether the batch can be combined by bins: there are not too many, and a block of threads of
  // this GPU can have the shared memory that it takes (not below Hopper).
  bool Fits(const Exec& exec) const;
};

// Fills all of `distinct` but places and missing, of which there are none yet, for a batch whose
// plan fits; one key or more. Keys come table by table and, but for those that come often, by and
// large by home; which of such orders it is depends on how threads run. Device memory;
// enqueues on exec.stream. `scratch`: BinScratchBytes.
void CombineByBins(const Exec& exec, const BinPlan& plan, const uint64_t* keys,
                   const DistinctKeys& distinct, std::span<std::byte> scratch);
// Enough for any plan of so many keys that fits.
size_t BinScratchBytes(size_t keys);

// The places of keys that CombineByBins has combined, and which have none.
void FindDistinct(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct);

}  // namespace strata
