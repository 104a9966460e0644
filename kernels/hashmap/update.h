// Updates of rows in a GPU's memory: gradients of equal keys are summed in a fixed order, then the
// optimizer's rule (kernels/optim/rules.h) runs once a row. The same bits as on the CPU.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/core/exec.h"
#include "kernels/hashmap/combine.h"
#include "kernels/hashmap/map_ref.h"
#include "kernels/optim/optimizer_spec.h"

namespace strata {

// By distinct key; device memory.
struct SummedGradients {
  float* sums = nullptr;      // x dim
  uint32_t* parts = nullptr;  // that brought the key; 0: the sum holds NaN or infinity, and the row
                              // is to be left alone
};

// `gradients`: of the batch that `keys` was combined of, dim elements a position; the sum of a key
// is ((g1 + g2) + g3) + ... in the order of positions. The batch is parts one behind the other,
// which end at `part_ends`. *rejected grows by the keys that are to be left alone.
void SumGradients(const Exec& exec, const DistinctKeys& keys, uint32_t distinct,
                  const float* gradients, uint32_t dim, std::span<const uint32_t> part_ends,
                  const SummedGradients& out, unsigned long long* rejected);

// Runs the rule at time `step` for each row whose parts are not 0, and counts the push: frequency
// (which stops at 2^32 - 1), last step, checkpoint epoch.
void ApplyGradients(const Exec& exec, const MapRef& map, const OptimizerSpec& optimizer,
                    uint64_t step, uint32_t checkpoint_epoch, std::span<const uint64_t> places,
                    const SummedGradients& gradients);

}  // namespace strata
