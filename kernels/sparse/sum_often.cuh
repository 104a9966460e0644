// Sums of the gradients of keys that come more than kOften times.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/exec.h"
#include "kernels/sparse/batch.h"
#include "kernels/sparse/table_group.h"
#include "kernels/sparse/update.h"

namespace strata {

// The sums lie behind a counter. As each key has more than kOften positions, starts[j] / kOften is
// a number of its own.
constexpr size_t OftenSumFloats(size_t keys, uint32_t dim_max) {
  return 4 + (keys / kOften + 1) * ((dim_max + 3) / 4 * 4);
}
inline __device__ float* OftenSum(float* scratch, const TableGroup& group, uint32_t begin) {
  return scratch + 4 + uint64_t{begin / kOften} * ((group.dim_max + 3) / 4 * 4);
}

// For each key of distinct.often: ((g1 + g2) + g3) + ... in the order of positions. aligned: all
// rows, those of gradients too, begin at multiples of four elements. scratch: OftenSumFloats.
void SumOften(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
              const BatchGradients& gradients, bool aligned, uint32_t processors, float* scratch);

}  // namespace strata
