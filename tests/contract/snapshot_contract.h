// The contract of a LocalTable's snapshots: what checkpoints rely on, for whatever implements it. A
// test program links strata_snapshot_contract and says
//
//   INSTANTIATE_TEST_SUITE_P(Host, SnapshotContract, testing::Values(SnapshotCase{...}),
//                            SnapshotCaseName);
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "storage/memory/local_table.h"

namespace strata {

struct SnapshotCase {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<LocalTable>(const TableSpec&)> make;
  uint32_t seeds = 60;  // of the random runs
};

inline void PrintTo(const SnapshotCase& snapshot_case, std::ostream* out) {
  *out << snapshot_case.name;
}
inline std::string SnapshotCaseName(const testing::TestParamInfo<SnapshotCase>& info) {
  return info.param.name;
}

class SnapshotContract : public testing::TestWithParam<SnapshotCase> {};

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

}  // namespace strata
