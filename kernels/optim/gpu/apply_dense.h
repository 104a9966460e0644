// ApplyDense (kernels/optim/apply.h) on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strata/exec.h"
#include "strata/optimizer_spec.h"

namespace strata {

// Bytes of scratch that GpuApplyDense takes.
size_t GpuApplyDenseScratchBytes();

// The rule over `count` numbers at time `step` (1 or more): value and gradient have as many, state
// has StateWidth of them. All lie on the GPU. Enqueued; nothing waits. The bits are those of
// ApplyDense, but where clip_norm sums squares in another order. The rule is one that dense
// parameters may have (STRATA_CHECK).
void GpuApplyDense(const Exec& exec, const OptimizerSpec& spec, uint64_t step, size_t count,
                   float* value, float* state, const float* gradient, void* scratch);

}  // namespace strata
