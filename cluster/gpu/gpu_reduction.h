// What GPUs can reduce: the element types and operations of NCCL.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cluster/link/exchange/reduction.h"
#include "strata/status.h"

namespace strata {

enum class ElementType : uint8_t { kInt32, kInt64, kHalf, kBfloat16, kFloat, kDouble };

size_t ElementBytes(ElementType type);

// Sums and products of integers wrap around. Half and bfloat16 are reduced in float and rounded at
// the end where our own kernel runs; NCCL rounds as it pleases.
struct GpuReduction {
  ElementType type = ElementType::kFloat;
  ReduceOp op = ReduceOp::kSum;
};

// The reduction that a group of CPUs takes, as a group of GPUs takes it. kInvalid, with its name,
// for what NCCL does not have: a custom reduction, other element types.
Result<GpuReduction> OnGpus(const Reduction& reduction);

}  // namespace strata
