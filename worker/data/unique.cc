#include <bit>

#include "worker/data/batch.h"

namespace strata {

// Linear probing in a table of places in `keys`, plus 1 (0: free), at most half full.
void FindUniqueKeys(const std::vector<Key>& batch_keys, UniqueKeys* unique) {
  STRATA_CHECK(batch_keys.size() <= (size_t{1} << 31));
  const size_t table_size = std::bit_ceil(2 * batch_keys.size() + 2);
  const size_t mask = table_size - 1;
  unique->keys.clear();
  unique->index.resize(batch_keys.size());
  unique->table.assign(table_size, 0);
  uint32_t* const table = unique->table.data();
  uint64_t passed = 0;
  for (size_t i = 0; i < batch_keys.size(); ++i) {
    const Key key = batch_keys[i];
    size_t probe = unique->hash(key) & mask;
    while (table[probe] != 0 && unique->keys[table[probe] - 1] != key) {
      probe = (probe + 1) & mask;
      ++passed;
    }
    if (table[probe] == 0) {
      unique->keys.push_back(key);
      table[probe] = static_cast<uint32_t>(unique->keys.size());
    }
    unique->index[i] = table[probe] - 1;
  }
  unique->passed = passed;
}

}  // namespace strata
