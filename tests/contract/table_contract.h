// The contract of TableStore as a suite: whatever implements the interface passes it, and nothing
// is true of one implementation alone. A test program links strata_table_contract and says
//
//   INSTANTIATE_TEST_SUITE_P(Host, TableContract, testing::Values(TableContractCase{...}),
//                            TableContractName);
//
// Results are compared bit by bit with the std::map model (tests/support/map_table.h).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "storage/table.h"
#include "tests/support/sanitizers.h"

namespace strata {

// A store under test, with whatever must live beside it (servers, sockets, clocks).
class ContractHarness {
 public:
  virtual ~ContractHarness() = default;
  virtual TableStore& store() = 0;
  virtual TimeNs Now() = 0;  // on the store's clock
};

struct TableContractCase {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<ContractHarness>()> make;
  // The store is one process alone: it refuses synchronous groups of several ranks, and counts an
  // update as one step however many keys it has.
  bool in_process = true;
  uint32_t random_steps =
      kSanitized ? 2'000 : 10'000;  // of the randomised runs, for each optimizer
  uint64_t growth_rows = 300'000;   // that a table grows to
};

inline void PrintTo(const TableContractCase& contract_case, std::ostream* out) {
  *out << contract_case.name;
}
inline std::string TableContractName(const testing::TestParamInfo<TableContractCase>& info) {
  return info.param.name;
}

// Row by row; equal only if the bits are.
struct RowImage {
  std::vector<uint32_t> element_bits;
  uint32_t frequency = 0;
  uint64_t last_step = 0;
  friend bool operator==(const RowImage&, const RowImage&) = default;
};

std::vector<uint32_t> BitsOf(std::span<const float> values);

// The blocking calls a test is written in; each failure fails the test at once.
class StoreUser {
 public:
  explicit StoreUser(TableStore& store) : store_(store) {}

  Status Run(OpKind kind, const TablePart& part, uint64_t step = 1);
  Status Run(Operation operation);
  void Create(const TableSpec& spec);
  std::vector<float> Lookup(const TableSpec& spec, std::span<const Key> keys);
  void Update(const TableSpec& spec, std::span<const Key> keys, std::span<const float> gradients,
              uint64_t step);
  std::vector<float> UpdateLookup(const TableSpec& spec, std::span<const Key> keys,
                                  std::span<const float> gradients, std::span<const Key> then,
                                  uint64_t step);
  void Assign(const TableSpec& spec, std::span<const Key> keys, std::span<const float> values);
  // How many rows went; nothing where the store does not say, as after a repeat.
  std::optional<uint64_t> Erase(const TableSpec& spec, std::span<const Key> keys);
  TableStats Stats(const TableSpec& spec);
  // All pages; fails if a key comes twice.
  std::map<Key, RowImage> Scan(const TableSpec& spec, uint32_t rows_max, bool with_state);

  TableStore& store() { return store_; }

 private:
  TableStore& store_;
};

class TableContract : public testing::TestWithParam<TableContractCase> {
 public:
  TableContract();
  ~TableContract() override;

 protected:
  TimeNs Now() { return harness_->Now(); }

  std::unique_ptr<ContractHarness> harness_;
  std::unique_ptr<TableStore> model_store_;

 public:
  StoreUser store;  // under test
  StoreUser model;
};

// The rule alone, its constants such that each has an effect.
TableSpec ContractSpec(const std::string& name, uint32_t dim, OptimizerKind optimizer,
                       InitializerKind initializer);
// The same with clipping, weight decay and a schedule.
TableSpec ShapedSpec(TableSpec spec);

constexpr OptimizerKind kOptimizerKinds[] = {
    OptimizerKind::kSgd,      OptimizerKind::kAdaGrad,        OptimizerKind::kAdam,
    OptimizerKind::kMomentum, OptimizerKind::kRowwiseAdaGrad, OptimizerKind::kNesterov,
    OptimizerKind::kLazyAdam, OptimizerKind::kRmsProp,        OptimizerKind::kFtrl};
constexpr InitializerKind kInitializerKinds[] = {InitializerKind::kZero, InitializerKind::kUniform,
                                                 InitializerKind::kNormal};

}  // namespace strata
