// Pooled lookups on a GPU: search, gather and sum in one pass. A bag is the keys of one slot of one
// sample, and its vector what a model sees of them.
#pragma once

#include <cstdint>
#include <span>

#include "strata/exec.h"
#include "strata/gpu/bags.h"
#include "strata/gpu/hash_map.h"
#include "strata/gpu/map_ref.h"
#include "strata/host_device.h"

namespace strata {

// One table's bags. Device memory, of which nothing is written but `out`.
struct PooledTable {
  MapRef map;
  // Where a table's rows lie on several GPUs, by key: the map of each owner, whose lines and slots
  // may be another GPU's memory (storage/gpu/device_pool.h), and the owner of each shard
  // (kernels/sparse/partition.h). Both arrays are memory of the GPU that looks up. Of `map` what is
  // alike in all of them counts then, dimension and types. Null: `map` has all rows.
  const MapRef* maps = nullptr;
  const uint16_t* owner_of_shard = nullptr;
  RowStart start;  // a missing row answers with its initial value
  const uint64_t* keys = nullptr;
  // Keys of bag b: offsets[b] to offsets[b + 1] - 1. Null: bag b is key b.
  const uint32_t* offsets = nullptr;
  const float* weights = nullptr;  // by key; null: all are 1
  uint64_t bags = 0;
  // Vectors of a sample's `slots` bags lie vector_stride elements apart, samples `stride`.
  void* out = nullptr;  // a multiple of 16 bytes
  uint64_t stride = 0;
  uint64_t vector_stride = 0;  // dim or more
  uint32_t slots = 1;
  Combiner combiner = Combiner::kSum;

  // Where bag b begins: its first key, the first element of its vector.
  STRATA_HD uint32_t BeginOf(uint64_t bag) const {
    return static_cast<uint32_t>(offsets == nullptr ? bag : offsets[bag]);
  }
  STRATA_HD uint64_t ElementOf(uint64_t bag) const {
    return bag / slots * stride + bag % slots * vector_stride;
  }
  // Whether each vector begins at a multiple of four elements after `out`, and the next one, too:
  // then the elements between them may be overwritten.
  STRATA_HD bool IsInFours() const { return vector_stride % 4 == 0 && stride % 4 == 0; }
};

// vector = w1 row1 + w2 row2 + ... in key order, in fp32 and rounded to `type` at the end; kMean
// divides by the number of keys. The same bits whatever GPUs the rows lie on. All tables in one
// launch, of whatever dimension; at most kPoolTablesMax. Allocates nothing and does not
// synchronise.
void PoolRows(const Exec& exec, std::span<const PooledTable> tables, PooledType type);

}  // namespace strata
