// WarmShares: the memory of a server's tiered tables, shared out between them.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/memory/memory_budget.h"
#include "storage/memory/pool_shares.h"

namespace strata {

// Thread-safe. Tables have max-min fair parts (PoolShares): each an equal one for sure, and at
// least what its first rows take, and more where others leave it. When they need more, it gives
// back what is beyond with its next operation or KeepToShare; until then all together may have more
// than the limit. Beyond its part a table has what is left, and before BeginLimit what it needs:
// what was acknowledged must find its place, however it lay when it was.
class WarmShares {
 public:
  // `rows_max`: of one table, however small its rows; lets tests move rows with few of them.
  explicit WarmShares(uint64_t bytes_max, uint64_t rows_max = UINT64_MAX)
      : budget_(bytes_max), rows_max_(rows_max) {}

  PoolShares& shares() { return shares_; }
  uint64_t rows_max() const { return rows_max_; }
  MemoryBudget& budget() { return budget_; }
  bool IsFull() const { return budget_.used() >= budget_.bytes_max(); }
  void BeginLimit() { is_limited_ = true; }
  bool is_limited() const { return is_limited_; }

 private:
  MemoryBudget budget_;
  PoolShares shares_;
  const uint64_t rows_max_;
  std::atomic<bool> is_limited_{false};
};

}  // namespace strata
