// A table on a GPU over memory and disk, with all that it stands on, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "storage/gpu/device_pool.h"
#include "storage/gpu/hot/hot_table.h"
#include "storage/tiered/tiered_table.h"
#include "tests/storage/tier_parts.h"

namespace strata {

// `warm_rows_max`: in host memory. options.rows_max: on the GPU.
class HotTiers {
 public:
  HotTiers(const TableSpec& spec, const TierPolicy& policy, uint64_t warm_rows_max,
           const HotTableOptions& options, bool with_thread = false)
      : parts_(warm_rows_max, with_thread),
        table_(spec, Pool(), PinnedPool::Make(),
               std::make_unique<TieredTable>(spec, policy, parts_.warm, parts_.folder.cold(),
                                             *parts_.executor),
               Workers(), options) {}
  HotTable& table() { return table_; }

 private:
  static DevicePool& Pool() {
    static const std::unique_ptr<DevicePool> pool = [] {
      auto made = DevicePool::Make(0, size_t{256} << 20);
      STRATA_CHECK_MSG(made.ok(), made.status().ToString());
      return std::move(*made);
    }();
    return *pool;
  }
  static WorkPool& Workers() {
    static const std::unique_ptr<WorkPool> workers = [] {
      auto started = WorkPool::Start("gather", 2);
      STRATA_CHECK_MSG(started.ok(), started.status().ToString());
      return std::move(*started);
    }();
    return *workers;
  }

  TierParts parts_;
  HotTable table_;
};

inline std::vector<float> RowsOf(LocalTable& table, std::span<const Key> keys) {
  std::vector<float> rows(keys.size() * table.spec().dim);
  EXPECT_TRUE(table.Lookup(keys, rows).ok());
  return rows;
}

}  // namespace strata
