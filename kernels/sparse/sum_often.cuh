// Sums of the gradients of keys that come more than kOften times.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/sparse/batch.h"
#include "kernels/sparse/table_group.h"
#include "kernels/sparse/update.h"
#include "strata/exec.h"

namespace strata {

// The sums lie behind a counter. As each run has more than kOften positions, where it begins /
// kOften is a number of its own.
constexpr size_t OftenSumFloats(size_t keys, uint32_t dim_max) {
  return 4 + (keys / kOften + 1) * ((dim_max + 3) / 4 * 4);
}
inline __device__ float* OftenSum(float* scratch, const TableGroup& group, uint32_t begin) {
  return scratch + 4 + uint64_t{begin / kOften} * ((group.dim_max + 3) / 4 * 4);
}

// For each run of more than kOften positions: ((g1 + g2) + g3) + ... in their order. A run: what a
// key of distinct.often has in one of the parts that end before `run_ends`; empty: all that it has.
// aligned: all gradients begin at multiples of four elements, and so does what comes after them.
// scratch: OftenSumFloats.
void SumOften(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
              const BatchGradients& gradients, std::span<const uint32_t> run_ends, bool aligned,
              uint32_t processors, float* scratch);

}  // namespace strata
