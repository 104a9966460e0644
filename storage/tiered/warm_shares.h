// WarmShares: the memory of a server's tiered tables, shared out between them.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/memory/memory_budget.h"

namespace strata {

// Thread-safe. Each table may use an equal part. When others join, it gives back what is beyond
// that with its next operation; until then a newcomer may be refused.
class WarmShares {
 public:
  // `rows_max`: of one table, however small its rows; lets tests move rows with few of them.
  explicit WarmShares(uint64_t bytes_max, uint64_t rows_max = UINT64_MAX)
      : budget_(bytes_max), rows_max_(rows_max) {}

  void Join() { ++tables_; }
  void Leave() { --tables_; }
  uint64_t ShareBytes() const { return budget_.bytes_max() / tables_; }
  uint64_t rows_max() const { return rows_max_; }
  MemoryBudget& budget() { return budget_; }

 private:
  MemoryBudget budget_;
  const uint64_t rows_max_;
  std::atomic<uint32_t> tables_{0};
};

}  // namespace strata
