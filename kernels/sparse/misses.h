// The keys of a batch that have no row, after CombineBatch. Device memory throughout; calls enqueue
// kernels on exec.stream, allocate nothing and do not synchronise.
#pragma once

#include <cstdint>

#include "kernels/core/exec.h"
#include "kernels/sparse/batch.h"
#include "kernels/sparse/table_group.h"

namespace strata {

struct Misses {
  uint32_t keys = 0;       // distinct ones
  uint32_t positions = 0;  // where they stand
};

// of_tables[t]: what the batch misses of table t.
void CountMisses(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
                 Misses* of_tables);

// Finds the rows of the distinct keys anew, and lists those that are missing: for a batch that was
// combined before its tables changed. The group has them as they are now, with the same numbers of
// keys.
void LocateAgain(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct);

}  // namespace strata
