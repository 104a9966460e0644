// What the suite "tiered" does to a table, and what must be in it afterwards.
//
// Rows are filled by rising hash, then pushed to with SGD at rate 1. Values and gradients are small
// whole numbers, so that every sum is exact in a float whatever the order: element d of row n is
// FilledValue(n, d) plus the weights of all pushes of the row times GradientStep(d).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/row_schema.h"
#include "storage/table_spec.h"
#include "strata/status.h"

namespace strata::bench {

constexpr size_t kTieredBatch = 4096;
constexpr uint32_t kTieredDim = 32;
constexpr uint64_t kTablePerBudget = 20;

struct TieredShape {
  uint64_t budget = 0;   // bytes
  uint64_t rows = 0;     // all of them together: kTablePerBudget times the budget
  uint64_t warm_up = 0;  // batches looked up before anything is measured
  uint64_t batches = 0;  // pulls and pushes by turns, of a turn
  uint64_t turns = 0;
  uint64_t AllBatches() const { return turns * batches; }
};
TieredShape TieredShapeOf(uint64_t budget, uint64_t warm_up, uint64_t batches, uint64_t turns);

TableSpec TieredSpec();

inline float FilledValue(uint64_t n, uint32_t d) { return static_cast<float>(n % 4096 + d); }
inline float GradientStep(uint32_t d) { return static_cast<float>(1 + d % 4); }
// Of the push at a place of a batch.
inline uint32_t PushWeight(size_t place) { return 1 + static_cast<uint32_t>(place % 3); }
inline bool IsPull(uint64_t batch) { return batch % 2 == 0; }

// The model of a row: what was pushed to it.
struct PushSum {
  uint32_t weights = 0;
  uint32_t pushes = 0;  // a batch counts once
  uint64_t last_step = 0;
};

// Files that contenders read, so that nothing of them counts as theirs: all keys by rising hash;
// the batches, those of the warm-up first; the model after all of them, by row number.
struct TieredFiles {
  std::string folder;
  std::string fill() const { return folder + "/fill"; }
  std::string batches() const { return folder + "/batches"; }
  std::string model() const { return folder + "/model"; }
};
Status WriteTieredFiles(const TieredShape& shape, const TieredFiles& files);

}  // namespace strata::bench
