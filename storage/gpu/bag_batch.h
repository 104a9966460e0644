// What groups of tables check and read of a batch of bags (strata/gpu/bags.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sparse/pool_rows.h"
#include "kernels/sparse/table_group.h"
#include "storage/table.h"
#include "strata/gpu/bags.h"
#include "strata/status.h"

namespace strata {

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
