#include <cuda_runtime.h>

#include "kernels/core/math.h"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/sparse/list_pushes.h"
#include "kernels/sparse/parts.cuh"

namespace strata {
namespace {

// A warp a key.
__global__ void ListThem(DistinctKeys distinct, uint32_t missing, BatchGradients gradients,
                         uint32_t dim, uint64_t* keys, uint32_t* pushes) {
  const uint64_t n = ThreadNumber() / 32;
  if (n >= missing) return;
  const uint32_t j = distinct.missing[n];
  const uint32_t* order = distinct.order + distinct.starts[j];
  const uint32_t rows = distinct.starts[j + 1] - distinct.starts[j];
  bool finite = true;
  for (uint32_t e = Lane(); e < dim; e += 32) {
    float sum = gradients.values[uint64_t{order[0]} * dim + e];
    for (uint32_t row = 1; row < rows; ++row) {
      sum += gradients.values[uint64_t{order[row]} * dim + e];
    }
    finite = finite && math::IsFinite(sum);
  }
  finite = __all_sync(~0U, finite) != 0;
  if (Lane() != 0) return;
  keys[n] = distinct.keys[j];
  pushes[n] = finite ? PartsThatBrought(gradients.part_ends, order, rows) : 0;
}

}  // namespace

void ListPushes(const Exec& exec, const DistinctKeys& distinct, uint32_t missing,
                const BatchGradients& gradients, uint32_t dim, uint64_t* keys, uint32_t* pushes) {
  if (missing == 0) return;
  ListThem<<<BlocksFor(uint64_t{missing} * 32), kMapThreads, 0,
             static_cast<cudaStream_t>(exec.stream)>>>(distinct, missing, gradients, dim, keys,
                                                       pushes);
}

}  // namespace strata
