// The contract of a LocalTable's snapshots: what checkpoints rely on, for whatever implements it. A
// test program links strata_snapshot_contract and says
//
//   INSTANTIATE_TEST_SUITE_P(Host, SnapshotContract, testing::Values(SnapshotCase{...}),
//                            SnapshotCaseName);
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "storage/memory/local_table.h"
#include "tests/contract/table_bits.h"
#include "tests/support/sanitizers.h"

namespace strata {

struct SnapshotCase {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<LocalTable>(const TableSpec&)> make;
  uint32_t seeds = kSanitized ? 8 : 60;  // of the random runs
  uint64_t ttl_steps = 0;                // of the tables' policy
};

inline void PrintTo(const SnapshotCase& snapshot_case, std::ostream* out) {
  *out << snapshot_case.name;
}
inline std::string SnapshotCaseName(const testing::TestParamInfo<SnapshotCase>& info) {
  return info.param.name;
}

class SnapshotContract : public testing::TestWithParam<SnapshotCase> {};

}  // namespace strata
