// TableGroup: tables of one GPU whose parts of a batch are worked on in one launch, as kernels take
// it by value. One table is a group too.
//
// A batch has the keys of table 0 first, then those of table 1, and so on. Its rows (values out,
// gradients in) lie in the same order, each of its table's dimension; those of a table begin at a
// multiple of four elements.
#pragma once

#include <cstdint>

#include "strata/gpu/hash_map.h"
#include "strata/gpu/map_ref.h"
#include "strata/host_device.h"

namespace strata {

constexpr uint32_t kGroupTablesMax = 64;

struct GroupTable {
  MapRef map;
  RowStart start;              // what a row that is missing holds
  uint64_t keys = 0;           // of the batch
  uint64_t first_key = 0;      // its position
  uint64_t first_element = 0;  // of the batch's rows
  uint64_t first_id = 0;       // slots of the tables before it
  uint32_t first_block = 0;
};

struct TableGroup {
  static constexpr uint32_t kBlockKeys = 256;  // of one table

  uint32_t count = 0;
  uint32_t blocks = 0;  // that the keys take
  uint32_t dim_max = 0;
  uint64_t keys = 0;
  uint64_t elements = 0;
  uint64_t ids = 0;  // slots of all tables
  GroupTable tables[kGroupTablesMax];

  // Appends a table that has the next `table_keys` keys of the batch. There is room for it.
  void Add(const MapRef& map, const RowStart& start, uint64_t table_keys) {
    GroupTable& table = tables[count++];
    table = {map, start, table_keys, keys, elements, ids, blocks};
    keys += table_keys;
    elements = (elements + table_keys * map.dim + 3) / 4 * 4;
    ids += map.pairs() * kPairSlots;
    blocks += static_cast<uint32_t>((table_keys + kBlockKeys - 1) / kBlockKeys);
    dim_max = dim_max < map.dim ? map.dim : dim_max;
  }

  bool AllDimsAreMultiplesOf(uint32_t n) const {
    for (uint32_t t = 0; t < count; ++t) {
      if (tables[t].map.dim % n != 0) return false;
    }
    return true;
  }

  // Whether all values, and all states that there are, are bf16.
  bool IsBf16() const {
    for (uint32_t t = 0; t < count; ++t) {
      const MapRef& map = tables[t].map;
      const bool has_bf16_states = map.state_types.first == ElementType::kBf16 &&
                                   map.state_types.second == ElementType::kBf16;
      if (map.value_type != ElementType::kBf16) return false;
      if (map.state_width != 0 && !has_bf16_states) return false;
    }
    return true;
  }

  bool IsNarrow() const {
    for (uint32_t t = 0; t < count; ++t) {
      if (tables[t].map.IsNarrow()) return true;
    }
    return false;
  }

  // The last table whose `first` is not above `at`.
  template <typename T>
  STRATA_HD const GroupTable& TableOf(T GroupTable::*first, T at) const {
    uint32_t begin = 0;
    for (uint32_t end = count; end - begin > 1;) {
      const uint32_t middle = (begin + end) / 2;
      if (tables[middle].*first <= at) {
        begin = middle;
      } else {
        end = middle;
      }
    }
    return tables[begin];
  }
  STRATA_HD const GroupTable& OfKey(uint64_t position) const {
    return TableOf(&GroupTable::first_key, position);
  }
  STRATA_HD const GroupTable& OfBlock(uint32_t block) const {
    return TableOf(&GroupTable::first_block, block);
  }
};

}  // namespace strata
