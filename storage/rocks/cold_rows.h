// Rows as bytes, the way the cold tier holds them (RowSchema), and pages of them. Elements of
// narrow types are read and written through storage/row_elements.h alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/rocks/rocks_db.h"
#include "storage/row_schema.h"
#include "storage/table.h"

namespace strata {

inline float* ElementsOf(std::byte* row) { return reinterpret_cast<float*>(row); }
inline const float* ElementsOf(const std::byte* row) { return reinterpret_cast<const float*>(row); }
inline RowCounters& CountersOf(const RowSchema& schema, std::byte* row) {
  return *reinterpret_cast<RowCounters*>(row + schema.counters_offset());
}
inline const RowCounters& CountersOf(const RowSchema& schema, const std::byte* row) {
  return *reinterpret_cast<const RowCounters*>(row + schema.counters_offset());
}

inline RowView ViewOf(const RowSchema& schema, const std::byte* row) {
  return {ElementsOf(row), &CountersOf(schema, row)};
}

// The row of a key that was never written: initial value and state, counters zero.
void MakeNewRow(const TableSpec& spec, const RowSchema& schema, Key key, float* elements,
                RowCounters& counters);

// One row more, with or without state and counters.
void AppendRow(const RowSchema& schema, Key key, const RowView& row, bool with_state,
               ScanPage& page);

// Where a merged walk has come to: rows whose hash is below `next` are done.
struct MergeEnd {
  uint64_t next = 0;
  bool done = false;
};

// Walks the rows of the memory tier and of the cold tier together, by rising hash, each key once:
// `hashes` (ascending) tells which may be in memory, `cursor` stands at the first cold one. None of
// them is above `last`, and what of the cold tier is stays for later.
//   in_memory(key)   the row, or one without elements when it is not there (any more)
//   visit(key, row)  true to go on; false: no more after this one
// What memory says holds; a cold row is passed over when `is_dead(key)`.
template <typename InMemory, typename IsDead, typename Visit>
MergeEnd MergeRows(const RowSchema& schema, std::span<const uint64_t> hashes, RocksCursor& cursor,
                   InMemory in_memory, IsDead is_dead, Visit visit, uint64_t last = UINT64_MAX) {
  size_t at = 0;
  const auto has_cold = [&] { return cursor.Valid() && cursor.hash() <= last; };
  while (at < hashes.size() || has_cold()) {
    const bool is_cold = has_cold() && (at == hashes.size() || cursor.hash() <= hashes[at]);
    const uint64_t hash = is_cold ? cursor.hash() : hashes[at];
    const Key key = KeyOfColdHash(hash);
    RowView row = in_memory(key);
    if (row.elements == nullptr && is_cold && !is_dead(key)) row = ViewOf(schema, cursor.row());
    const bool go_on = row.elements == nullptr || visit(key, row);
    if (is_cold) cursor.Next();
    if (at < hashes.size() && hashes[at] == hash) ++at;
    if (go_on) continue;
    const bool is_last = last == UINT64_MAX && at == hashes.size() && !cursor.Valid();
    return {hash + 1, hash == UINT64_MAX || is_last};
  }
  return {last + 1, last == UINT64_MAX};
}

}  // namespace strata
