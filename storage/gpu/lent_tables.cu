#include <algorithm>
#include <set>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/pool_rows.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/gpu_table.h"
#include "storage/gpu/lent_tables.h"

namespace strata {

Status CheckNames(std::span<const std::string> tables) {
  constexpr size_t kMost = std::min(kGroupTablesMax, kPoolTablesMax);
  if (tables.empty() || tables.size() > kMost) {
    return Invalid(
        fmt::format("a group of embeddings has 1 to {} tables, not {}", kMost, tables.size()));
  }
  const std::set<std::string> different(tables.begin(), tables.end());
  if (different.size() != tables.size()) {
    return Invalid("a group of embeddings names a table twice");
  }
  return {};
}

LentTables::~LentTables() {
  if (tables_.empty()) return;
  const DeviceScope device(exec_.ordinal);
  const auto done = static_cast<cudaEvent_t>(done_);
  Must(FromCuda(cudaEventRecord(done, StreamOf(exec_)), "the GPU"));
  for (GpuTable* table : tables_) table->TakeBack(done);
}

Status LentTables::Lend(const LocalStore::Entries& entries, std::span<const TableSpec> specs) {
  const DeviceScope device(exec_.ordinal);
  for (size_t t = 0; t < entries.size(); ++t) {
    LocalTable& table = *entries[t]->table;
    if (!specs.empty() && table.spec() != specs[t]) {
      return Invalid(fmt::format("table '{}' is another one than the group was opened with: {}",
                                 table.spec().name, DifferenceOf(table.spec(), specs[t])));
    }
    auto* of_gpu = dynamic_cast<GpuTable*>(&table);
    if (of_gpu == nullptr || of_gpu->ordinal() != exec_.ordinal) {
      return Invalid(fmt::format("table '{}' does not lie in the memory of GPU {}",
                                 table.spec().name, exec_.ordinal));
    }
    STRATA_TRY(of_gpu->Lend(exec_));
    tables_.push_back(of_gpu);
  }
  return {};
}

TableGroup LentTables::GroupOf(std::span<const uint64_t> keys) const {
  TableGroup group;
  for (size_t t = 0; t < keys.size(); ++t) {
    group.Add(tables_[t]->map(), tables_[t]->Start(), keys[t]);
  }
  return group;
}

bool LentTables::HasTiersBelow() const {
  return std::ranges::any_of(tables_, [](const GpuTable* t) { return t->HasTiersBelow(); });
}

std::vector<uint64_t> LentTables::Generations() const {
  std::vector<uint64_t> generations;
  for (const GpuTable* table : tables_) generations.push_back(table->generation());
  return generations;
}

Result<std::vector<TableSpec>> LentTables::Specs() const {
  std::vector<TableSpec> specs;
  for (const GpuTable* table : tables_) {
    const TableSpec& spec = table->spec();
    if (!specs.empty() && spec.optimizer != specs[0].optimizer) {
      return Invalid(
          fmt::format("table '{}' has another optimizer than table '{}'; a group has one: open one "
                      "for each",
                      spec.name, specs[0].name));
    }
    specs.push_back(spec);
  }
  return specs;
}

}  // namespace strata
