// Backward of pooled lookups: which bag's gradient each key of a batch has, and how much of it.
// UpdateRows sums them from there, so that the gradients of keys lie nowhere. A step of training
// over pooled tables:
//
//   CombineBatch(exec, group, keys, nullptr, distinct, scratch);
//   PoolRows(exec, tables, type);                     // rows are as they were before the step
//   ...                                               // the model: vectors in, their gradients out
//   UpdateRows(exec, group, optimizer, step, distinct,
//              GradientsOfBags(exec, group, tables, gradients, type, bags), scratch);
//
// group.tables[t] and tables[t] are one table: the same map, and keys of tables[t] begin at
// keys + group.tables[t].first_key. The maps have room for the rows that the update makes; if they
// are split for it, that is before CombineBatch.
#pragma once

#include <optional>
#include <span>

#include "kernels/sparse/pool_rows.h"
#include "kernels/sparse/table_group.h"
#include "kernels/sparse/update.h"
#include "strata/exec.h"

namespace strata {

// The gradients of the only table's vectors, which are at `gradients` as GradientsOfBags has them:
// where each bag is a key without a weight, all begin at multiples of four elements, and `type` is
// not kFloat16, it launches nothing, and UpdateRows finds a key's gradient with a look less.
// Nothing otherwise.
std::optional<BatchGradients> GradientsOfSlots(std::span<const PooledTable> tables,
                                               std::span<const void* const> gradients,
                                               PooledType type);

// The gradients of the vectors of tables[t] are at gradients[t], of this type and laid out as
// tables[t].out is by its strides and slots; what is between them has no effect. Device memory.
// bags: room for the batch, filled by one launch over all tables. The result points to both.
//
// The key at position p of bag b, of n keys, has the gradient s_p g_b: s_p is its weight, which
// kMean divides by n in fp32 first, then multiplied with each element. Weights have no gradients
// here. The bags of tables[t] hold group.tables[t].keys keys, offsets beginning at 0, and tables
// that have no keys are there too. At most kPoolTablesMax. Allocates nothing and does not
// synchronise.
BatchGradients GradientsOfBags(const Exec& exec, const TableGroup& group,
                               std::span<const PooledTable> tables,
                               std::span<const void* const> gradients, PooledType type,
                               BagGradient* bags);

}  // namespace strata
