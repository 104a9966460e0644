// The keys of a batch that have no row, after CombineBatch. Device memory throughout; calls enqueue
// kernels on exec.stream, allocate nothing and do not synchronise.
#pragma once

#include <cstdint>

#include "kernels/sparse/batch.h"
#include "kernels/sparse/table_group.h"
#include "strata/exec.h"

namespace strata {

struct Misses {
  uint32_t keys = 0;       // distinct ones
  uint32_t positions = 0;  // where they stand
};

// of_tables[t]: what the batch misses of table t.
void CountMisses(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
                 Misses* of_tables);

// The distinct keys of a batch by table: those of table t begin at `first_key` of the group's table
// t in both arrays, which have room for the batch, in no promised order.
struct ListedKeys {
  uint64_t* places = nullptr;  // of those that have a row
  uint64_t* keys = nullptr;    // those that have none
  struct Counts {
    uint32_t places = 0;
    uint32_t keys = 0;
  };
  Counts* counts = nullptr;  // by table
};
void ListByTable(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
                 const ListedKeys& out);

// Finds the rows of the distinct keys anew, and lists those that are missing: for a batch that was
// combined before its tables changed. The group has them as they are now, with the same numbers of
// keys.
void LocateAgain(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct);

}  // namespace strata
