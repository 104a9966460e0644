// Updates of rows on a GPU: gradients of equal keys are summed in the order of the batch, then the
// optimizer's rule (kernels/optim/rules.h) runs once a row. The same bits as on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/sparse/batch.h"
#include "kernels/sparse/pool_rows.h"
#include "strata/exec.h"
#include "strata/optimizer_spec.h"

namespace strata {

// The gradient of a key that was pooled: `scale` times its bag's, each element widened to fp32,
// then multiplied and rounded.
struct alignas(16) BagGradient {
  const void* elements = nullptr;  // dim of them
  float scale = 0.0F;
};

// Gradients of one table's bags, where bag b is the key at position b. They lie as `out` of its
// PooledTable does, whose names these are, and begin at multiples of four elements.
struct SlotGradients {
  const void* elements = nullptr;  // null: there are none
  uint64_t stride = 0;
  uint32_t vector_stride = 0;
  uint32_t slots = 1;
};

// Device memory.
struct BatchGradients {
  const float* values = nullptr;  // by position (TableGroup)
  // The batch is parts one behind the other, which end before these positions. Empty: it is one.
  std::span<const uint32_t> part_ends = {};
  // By position, in place of `values`; null: keys have gradients of their own, or ...
  const BagGradient* bags = nullptr;
  SlotGradients of_slots = {};  // ... those of their slots, of kFloat32 or kBFloat16
  PooledType bag_type = PooledType::kFloat32;
  // All begin at a multiple of four of their elements, and so does what comes after them.
  bool bags_aligned = false;

  bool are_of_keys() const { return bags == nullptr && of_slots.elements == nullptr; }
};

// For each distinct key: g = ((g1 + g2) + g3) + ... in the order of positions. A sum that holds NaN
// or infinity is counted in its map's counts, and leaves the row alone; else the rule runs at time
// `step`, and the push is counted: frequency (by the parts that brought the key; it stops at 2^32 -
// 1), last step, and the table's start.score and start.checkpoint_epoch. A row that is missing is
// made: the maps have room. Where distinct.none_missing, that takes no launch. `scratch`:
// UpdateScratchBytes. Allocates nothing and does not synchronise.
void UpdateRows(const Exec& exec, const TableGroup& group, const OptimizerSpec& optimizer,
                uint64_t step, const DistinctKeys& distinct, const BatchGradients& gradients,
                std::span<std::byte> scratch);
size_t UpdateScratchBytes(size_t keys, uint32_t dim_max);

// Updates one after the other, in one pass: part i of the batch is one of its own, at time
// steps[i], and what comes out is to the bit what UpdateRows makes of a batch for each. Parts
// behind the last step are left out. Rows are fp32, and gradients `values`.
constexpr size_t kUpdatesInTurnMax = 64;
void UpdateRowsInTurn(const Exec& exec, const TableGroup& group, const OptimizerSpec& optimizer,
                      std::span<const uint64_t> steps, const DistinctKeys& distinct,
                      const BatchGradients& gradients, std::span<std::byte> scratch);

}  // namespace strata
