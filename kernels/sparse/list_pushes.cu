#include <cuda_runtime.h>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/core/math.h"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/sparse/list_pushes.h"
#include "kernels/sparse/parts.cuh"

namespace strata {
namespace {

// A warp a key.
__global__ void ListThem(DistinctKeys distinct, const uint32_t* numbers, uint64_t count,
                         BatchGradients gradients, uint32_t dim, uint64_t* keys, uint32_t* pushes) {
  const uint64_t n = ThreadNumber() / 32;
  if (n >= count) return;
  const uint32_t j = numbers[n];
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

void ListPushes(const Exec& exec, const DistinctKeys& distinct, std::span<const uint32_t> numbers,
                const BatchGradients& gradients, uint32_t dim, uint64_t* keys, uint32_t* pushes) {
  if (numbers.empty()) return;
  ListThem<<<BlocksFor(numbers.size() * 32), kMapThreads, 0, StreamOf(exec)>>>(
      distinct, numbers.data(), numbers.size(), gradients, dim, keys, pushes);
}

}  // namespace strata
