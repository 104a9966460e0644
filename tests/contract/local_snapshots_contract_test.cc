// The tables of this process under the contract of snapshots.
#include "storage/memory/host_table.h"
#include "tests/contract/snapshot_contract.h"
#include "tests/support/map_table.h"

namespace strata {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Local, SnapshotContract,
    testing::Values(
        SnapshotCase{"Model",
                     [](const TableSpec& spec) { return std::make_unique<MapTable>(spec); }, 20},
        SnapshotCase{"Host",
                     [](const TableSpec& spec) { return std::make_unique<HostTable>(spec); }, 300}),
    SnapshotCaseName);

}  // namespace
}  // namespace strata
