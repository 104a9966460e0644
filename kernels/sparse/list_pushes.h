// Who pushes keys of an update that have no row, or whose row has expired, for those who decide
// whether they get one.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/sparse/batch.h"
#include "kernels/sparse/update.h"
#include "strata/exec.h"

namespace strata {

// For each n the key of the distinct key number numbers[n] goes to keys[n], and to pushes[n] by how
// many parts of the batch it was brought, or 0 if the sum of its gradients holds NaN or infinity
// (UpdateRows leaves such a row alone). The gradients are rows of `dim` elements by position.
// Device memory; enqueues a kernel, allocates nothing and does not synchronise.
void ListPushes(const Exec& exec, const DistinctKeys& distinct, std::span<const uint32_t> numbers,
                const BatchGradients& gradients, uint32_t dim, uint64_t* keys, uint32_t* pushes);

}  // namespace strata
