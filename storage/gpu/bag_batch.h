// A batch of bags as a model hands it to a group of tables (storage/gpu/embedding_group.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sparse/pool_rows.h"
#include "kernels/sparse/table_group.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

// The bags of one table in a batch, as PooledTable has them. Device memory.
struct EmbeddingBags {
  uint64_t keys = 0;  // of all bags
  // Ascending from 0 to `keys`, one for each bag and one more, which nobody checks. Null: bag b is
  // key b.
  const uint32_t* offsets = nullptr;
  const float* weights = nullptr;  // by key; null: all are 1
  uint64_t bags = 0;
  void* out = nullptr;  // vectors; a multiple of 16 bytes
  uint64_t stride = 0;  // elements from sample to sample
  uint32_t slots = 1;   // bags of a sample
  Combiner combiner = Combiner::kSum;
};
struct BagBatch {
  const Key* keys = nullptr;              // those of table 0, then of table 1, ...; device memory
  std::span<const EmbeddingBags> tables;  // one for each of the group
  PooledType type = PooledType::kFloat32;
};

std::vector<uint64_t> KeysOf(const BagBatch& batch);  // by table
bool HasKeys(std::span<const uint64_t> counts);
// Whether memory is there, and elements of so many bytes may be read from it.
bool IsAligned(const void* memory, size_t bytes);
// Whether kernels may take four elements at once from there.
inline bool IsVector(const void* memory) { return IsAligned(memory, 16); }

// kInvalid, saying what is wrong, where a group of so many tables cannot take so many keys of each
// from there.
Status CheckKeys(size_t tables, const Key* keys, std::span<const uint64_t> counts);
// Likewise, of a batch for tables of these definitions, and of the gradients of its vectors by
// table.
Status CheckBags(std::span<const TableSpec> specs, const BagBatch& batch);
Status CheckGradients(std::span<const TableSpec> specs, std::span<const PooledTable> bags,
                      PooledType type, std::span<const void* const> gradients);

// The bags of a batch over the maps of a group that has as many keys of each table.
std::vector<PooledTable> PooledOf(const TableGroup& group, const BagBatch& batch);

}  // namespace strata
