#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "base/status.h"
#include "kernels/hashmap/combine.h"
#include "kernels/hashmap/map_device.cuh"

namespace strata {
namespace {

constexpr size_t kAlign = 256;
constexpr size_t Aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

struct IsFirst {
  const uint64_t* sorted;
  __device__ bool operator()(uint32_t i) const { return i == 0 || sorted[i] != sorted[i - 1]; }
};

// What CUB asks for beside our own arrays.
size_t CubBytes(size_t keys) {
  size_t sort = 0;
  size_t select = 0;
  (void)cub::DeviceRadixSort::SortPairs(nullptr, sort, static_cast<const uint64_t*>(nullptr),
                                        static_cast<uint64_t*>(nullptr),
                                        static_cast<const uint32_t*>(nullptr),
                                        static_cast<uint32_t*>(nullptr), static_cast<int>(keys));
  (void)cub::DeviceSelect::If(nullptr, select, thrust::counting_iterator<uint32_t>(0),
                              static_cast<uint32_t*>(nullptr), static_cast<uint32_t*>(nullptr),
                              static_cast<int>(keys), IsFirst{nullptr});
  return Aligned(std::max(sort, select));
}

__global__ void Number(uint32_t* positions, uint64_t count) {
  const uint64_t i = ThreadNumber();
  if (i < count) positions[i] = static_cast<uint32_t>(i);
}

__global__ void Name(const uint64_t* sorted, uint64_t count, DistinctKeys out) {
  const uint64_t j = ThreadNumber();
  const uint32_t distinct = *out.count;
  if (j >= distinct) return;
  const uint32_t start = out.starts[j];
  const uint32_t end = j + 1 == distinct ? static_cast<uint32_t>(count) : out.starts[j + 1];
  out.keys[j] = sorted[start];
  out.lasts[j] = out.order[end - 1];
  if (j + 1 == distinct) out.starts[distinct] = end;
}

}  // namespace

size_t CombineScratchBytes(size_t keys) {
  return Aligned(keys * sizeof(uint64_t)) + Aligned(keys * sizeof(uint32_t)) + CubBytes(keys);
}

void CombineKeys(const Exec& exec, std::span<const uint64_t> keys, const DistinctKeys& out,
                 std::span<std::byte> scratch) {
  const auto stream = static_cast<cudaStream_t>(exec.stream);
  if (keys.empty()) {
    (void)cudaMemsetAsync(out.count, 0, sizeof *out.count, stream);
    return;
  }
  const auto count = static_cast<int>(keys.size());
  auto* sorted = reinterpret_cast<uint64_t*>(scratch.data());
  auto* positions = reinterpret_cast<uint32_t*>(scratch.data() + Aligned(keys.size_bytes()));
  std::byte* temporary =
      reinterpret_cast<std::byte*>(positions) + Aligned(keys.size() * sizeof(uint32_t));
  const size_t cub_bytes = CubBytes(keys.size());
  STRATA_CHECK(temporary + cub_bytes <= scratch.data() + scratch.size());
  size_t bytes = cub_bytes;
  const uint32_t blocks = BlocksFor(keys.size());
  Number<<<blocks, kMapThreads, 0, stream>>>(positions, keys.size());
  (void)cub::DeviceRadixSort::SortPairs(temporary, bytes, keys.data(), sorted,
                                        static_cast<const uint32_t*>(positions), out.order, count,
                                        0, 64, stream);
  bytes = cub_bytes;
  (void)cub::DeviceSelect::If(temporary, bytes, thrust::counting_iterator<uint32_t>(0), out.starts,
                              out.count, count, IsFirst{sorted}, stream);
  Name<<<blocks, kMapThreads, 0, stream>>>(sorted, keys.size(), out);
}

}  // namespace strata
