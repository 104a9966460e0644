#include <bit>
#include <numeric>

#include "worker/data/batch.h"

namespace strata {
namespace {

// Calls visit(first, last) with runs of the batch's keys: those of some slots of each sample.
template <typename Visit>
void ForEachRun(const Batch& batch, size_t first_slot, size_t slots, const Visit& visit) {
  if (slots == batch.slots) return visit(size_t{0}, batch.keys.size());
  for (size_t i = 0; i < batch.samples; ++i) {
    const size_t slot = i * batch.slots + first_slot;
    visit(batch.offsets[slot], batch.offsets[slot + slots]);
  }
}

// Finds those of one table, by linear probing in a table of places in `keys`, plus 1 (0: free), at
// most half full.
void FindOfTable(const Batch& batch, size_t first_slot, size_t slots, UniqueKeys* unique) {
  size_t count = 0;
  ForEachRun(batch, first_slot, slots, [&](size_t first, size_t last) { count += last - first; });
  const size_t table_size = std::bit_ceil(2 * count + 2);
  const size_t mask = table_size - 1;
  const size_t begin = unique->keys.size();
  unique->table.assign(table_size, 0);
  uint32_t* const table = unique->table.data();
  ForEachRun(batch, first_slot, slots, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const Key key = batch.keys[i];
      size_t probe = unique->hash(key) & mask;
      while (table[probe] != 0 && unique->keys[begin + table[probe] - 1] != key) {
        probe = (probe + 1) & mask;
        ++unique->passed;
      }
      if (table[probe] == 0) {
        unique->keys.push_back(key);
        table[probe] = static_cast<uint32_t>(unique->keys.size() - begin);
      }
      unique->index[i] = table[probe] - 1;
    }
  });
}

}  // namespace

void FindUniqueKeys(const Batch& batch, std::span<const uint32_t> table_slots, UniqueKeys* unique) {
  STRATA_CHECK(batch.keys.size() <= Batch::kKeysMax);
  STRATA_CHECK(std::accumulate(table_slots.begin(), table_slots.end(), size_t{0}) == batch.slots);
  unique->keys.clear();
  unique->begins.assign(1, 0);
  unique->index.resize(batch.keys.size());
  unique->passed = 0;
  size_t first_slot = 0;
  for (const uint32_t slots : table_slots) {
    FindOfTable(batch, first_slot, slots, unique);
    first_slot += slots;
    unique->begins.push_back(unique->keys.size());
  }
}

}  // namespace strata
