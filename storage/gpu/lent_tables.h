// LentTables: the tables of a group on one GPU while a call works on them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sparse/table_group.h"
#include "storage/memory/local_store.h"
#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

class GpuTable;

// The tables of a group, at most so many, all different.
Status CheckNames(std::span<const std::string> tables);

// What is enqueued on the stream of `exec` comes behind all that was done to the tables before, and
// before all that is done to them once they are given back, as these go. Not thread-safe.
class LentTables {
 public:
  // `done`: an event of the GPU, for the latter.
  LentTables(const Exec& exec, void* done) : exec_(exec), done_(done) {}
  ~LentTables();
  LentTables(const LentTables&) = delete;
  LentTables& operator=(const LentTables&) = delete;

  // Once. The mutexes of the entries are held until the tables are given back. kInvalid when one is
  // not in the memory of the GPU, or not of the definition in `specs`, which is empty when there is
  // none yet; else errors as those of GpuTable::Lend. What was lent before an error is given back
  // as always.
  Status Lend(const LocalStore::Entries& entries, std::span<const TableSpec> specs);

  const std::vector<GpuTable*>& tables() const { return tables_; }
  TableGroup GroupOf(std::span<const uint64_t> keys) const;  // by table
  bool HasTiersBelow() const;
  std::vector<uint64_t> Generations() const;
  // Their definitions. kInvalid when they have not one optimizer.
  Result<std::vector<TableSpec>> Specs() const;

 private:
  const Exec exec_;
  void* const done_;
  std::vector<GpuTable*> tables_;
};

}  // namespace strata
