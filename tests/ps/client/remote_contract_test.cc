// The contract of TableStore over a cluster: real servers, threads and sockets in one process.
#include "tests/contract/table_contract.h"
#include "tests/ps/client/cluster_fixture.h"

namespace strata {
namespace {

class ClusterHarness : public ContractHarness {
 public:
  ClusterHarness(uint16_t servers, uint16_t lanes, bool cold, Transport transport)
      : servers_(servers, lanes, cold, "", transport), store_(servers_.Connect()) {}
  TableStore& store() override { return *store_; }
  TimeNs Now() override { return RealClock().Now(); }

 private:
  TestServers servers_;
  std::unique_ptr<RemoteStore> store_;
};

TableContractCase ClusterCase(std::string name, uint16_t servers, uint16_t lanes, bool cold = false,
                              Transport transport = Transport::kTcp) {
  TableContractCase result;
  result.name = std::move(name);
  result.make = [=] { return std::make_unique<ClusterHarness>(servers, lanes, cold, transport); };
  result.in_process = false;
  result.random_steps = 300;  // each step is a round trip or more
  result.growth_rows = 30'000;
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Remote, TableContract,
    testing::Values(ClusterCase("OneServer", 1, 2), ClusterCase("ThreeServers", 3, 2),
                    ClusterCase("ServersWithAColdTier", 2, 2, true),
                    ClusterCase("ThroughSharedMemory", 2, 2, false, Transport::kSharedMemory),
                    ClusterCase("WithinTheProcess", 2, 2, false, Transport::kInproc)),
    TableContractName);

}  // namespace
}  // namespace strata
