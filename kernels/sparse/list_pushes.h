// Who pushes the keys of an update that have no row, for those who decide whether they get one.
#pragma once

#include <cstdint>

#include "kernels/core/exec.h"
#include "kernels/sparse/batch.h"
#include "kernels/sparse/update.h"

namespace strata {

// For each entry n of distinct.missing, of which there are `missing`: its key to keys[n], and to
// pushes[n] by how many parts of the batch it was brought, or 0 if the sum of its gradients, in the
// order of positions, holds NaN or infinity, which UpdateRows rejects. The gradients are rows of
// `dim` elements by position. Device memory; enqueues a kernel, allocates nothing and does not
// synchronise.
void ListPushes(const Exec& exec, const DistinctKeys& distinct, uint32_t missing,
                const BatchGradients& gradients, uint32_t dim, uint64_t* keys, uint32_t* pushes);

}  // namespace strata
