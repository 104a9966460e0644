#include "storage/gpu/gpu_store.h"

#include <utility>

#include "storage/gpu/fault_guard.h"
#include "storage/gpu/gpu_tables.h"
#include "storage/memory/host_table.h"
#include "storage/memory/memory_budget.h"

namespace strata {
namespace {

// A GPU's failure ends this store, and not the process.
class GpuLocalStore final : public LocalStore {
 public:
  using LocalStore::LocalStore;
  ~GpuLocalStore() override {
    if (guard_.fault().ok()) return;
    const IgnoreGpuFaults ignore;
    ReplaceTables({}, epoch());
  }

  Status CreateTable(const TableSpec& spec) override {
    return guard_.Run([&] { return LocalStore::CreateTable(spec); });
  }
  Status DropTable(const std::string& name) override {
    return guard_.Run([&] { return LocalStore::DropTable(name); });
  }
  void Submit(Operation operation, Completion done) override {
    Outcome outcome;
    const Status status = guard_.Run([&] {
      LocalStore::Submit(std::move(operation), [&](Outcome of) { outcome = std::move(of); });
      return outcome.status;
    });
    if (outcome.lanes.empty()) outcome = {.status = status, .lanes = {{0, status}}};
    done(std::move(outcome));
  }

 private:
  FaultGuard guard_;
};

}  // namespace

Result<std::unique_ptr<LocalStore>> MakeLocalGpuStore(const GpuStoreOptions& options,
                                                      const Clock& clock) {
  // Kept alive by the factory and so by the store; tables end before it.
  STRATA_ASSIGN(auto made,
                GpuTables::Open({.ordinal = options.device, .memory_bytes = options.memory_bytes}));
  const std::shared_ptr<GpuTables> tables = std::move(made);
  LocalStore::TableFactory factory = [tables](const TableSpec& spec) {
    return tables->Make(spec, 0);
  };
  if (options.host_memory_bytes_max) {
    const auto budget = std::make_shared<MemoryBudget>(*options.host_memory_bytes_max);
    factory = [tables, budget](const TableSpec& spec) {
      return tables->MakeOver(spec, 0,
                              std::make_unique<HostTable>(spec, budget.get(), RowOrder::kByHome),
                              VictimOrder::kLeastRecent);
    };
  }
  return std::unique_ptr<LocalStore>(
      std::make_unique<GpuLocalStore>("the GPU store", std::move(factory), clock));
}

Result<std::unique_ptr<TableStore>> MakeGpuStore(const GpuStoreOptions& options) {
  STRATA_ASSIGN(std::unique_ptr<LocalStore> store, MakeLocalGpuStore(options));
  return std::unique_ptr<TableStore>(std::move(store));
}

}  // namespace strata
