// Tables on disk, and over memory and disk, under the contracts of TableStore and of snapshots.
#include "storage/memory/local_store.h"
#include "tests/contract/snapshot_contract.h"
#include "tests/contract/table_contract.h"
#include "tests/storage/tier_parts.h"

namespace strata {
namespace {

// A store whose tables share one RocksDB and the memory.
class TierHarness : public ContractHarness {
 public:
  using MakeTable = std::function<std::unique_ptr<LocalTable>(const TableSpec&, TierParts&)>;

  TierHarness(uint64_t rows_max, MakeTable make_table)
      : parts_(rows_max),
        store_(
            "a store with a cold tier",
            [this, make_table](const TableSpec& spec) { return make_table(spec, parts_); },
            clock_) {}
  TableStore& store() override { return store_; }
  TimeNs Now() override { return clock_.Now(); }

 private:
  SimClock clock_{1000};
  TierParts parts_;
  LocalStore store_;
};

TableContractCase RocksCase() {
  TableContractCase result;
  result.name = "Rocks";
  result.make = [] {
    return std::make_unique<TierHarness>(1, [](const TableSpec& spec, TierParts& parts) {
      return std::make_unique<RocksTable>(spec, parts.folder.cold());
    });
  };
  result.random_steps = 1'000;
  result.growth_rows = 30'000;
  return result;
}

// As few rows in memory as the contract's largest batch of writes allows.
TableContractCase TieredCase(std::string name, KeepPolicy keep) {
  TableContractCase result;
  result.name = std::move(name);
  result.make = [keep] {
    return std::make_unique<TierHarness>(3100, [keep](const TableSpec& spec, TierParts& parts) {
      return std::make_unique<TieredTable>(spec, TierPolicy{.keep = keep}, parts.warm,
                                           parts.folder.cold(), *parts.executor);
    });
  };
  result.random_steps = 1'000;
  result.growth_rows = 30'000;
  return result;
}

INSTANTIATE_TEST_SUITE_P(Tiers, TableContract,
                         testing::Values(RocksCase(), TieredCase("TieredLru", KeepPolicy::kLru),
                                         TieredCase("TieredLfu", KeepPolicy::kLfu)),
                         TableContractName);

// The runs make hundreds of tables; opening a RocksDB for each would take most of the time. Closed
// before RocksDB's own statics go.
class SharedParts : public testing::Environment {
 public:
  static TierParts& Get(bool with_thread, uint64_t rows_max) {
    auto& parts = all_[{with_thread, rows_max}];
    if (!parts) parts = std::make_unique<TierParts>(rows_max, with_thread);
    return *parts;
  }
  void TearDown() override { all_.clear(); }

 private:
  static inline std::map<std::pair<bool, uint64_t>, std::unique_ptr<TierParts>> all_;
};
const testing::Environment* const kSharedParts =
    testing::AddGlobalTestEnvironment(new SharedParts);  // GoogleTest deletes it

SnapshotCase SnapshotsOfTiered(std::string name, uint64_t rows_max, bool with_thread,
                               uint64_t ttl_steps = 0) {
  const auto make = [=](const TableSpec& spec) {
    TierParts& parts = SharedParts::Get(with_thread, rows_max);
    return std::make_unique<TieredTable>(spec, TierPolicy{.ttl_steps = ttl_steps}, parts.warm,
                                         parts.folder.cold(), *parts.executor);
  };
  return {.name = std::move(name), .make = make, .seeds = 5, .ttl_steps = ttl_steps};
}

SnapshotCase SnapshotsOfRocks() {
  const auto make = [](const TableSpec& spec) {
    return std::make_unique<RocksTable>(spec, SharedParts::Get(false, 1).folder.cold());
  };
  return {.name = "Rocks", .make = make, .seeds = 5};
}

INSTANTIATE_TEST_SUITE_P(
    Tiers, SnapshotContract,
    testing::Values(SnapshotsOfRocks(), SnapshotsOfTiered("TieredFewRowsInMemory", 150, false),
                    SnapshotsOfTiered("TieredHalfInMemory", 1000, false),
                    SnapshotsOfTiered("TieredWithItsThread", 150, true),
                    SnapshotsOfTiered("TieredWithRowsThatExpire", 150, false, 200)),
    SnapshotCaseName);

}  // namespace
}  // namespace strata
