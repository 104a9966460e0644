// What a table holds, to the bit, for tests to compare.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "storage/memory/local_table.h"

namespace strata {

// A row to the bit: elements and counters, the epoch among them.
struct RowBits {
  std::vector<uint32_t> elements;
  uint32_t frequency = 0;
  uint32_t epoch = 0;
  uint64_t last_step = 0;
  friend bool operator==(const RowBits&, const RowBits&) = default;
};
using TableBits = std::map<Key, RowBits>;

// Adds a page's rows; fails the test when one was there already.
void AddPage(const ScanPage& page, TableBits* bits);
TableBits BitsOfTable(const LocalTable& table);  // by a scan
TableBits BitsOfSnapshot(LocalTable& table);     // all rows of the snapshot, which ends

}  // namespace strata
