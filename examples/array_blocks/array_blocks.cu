// Sums, prefix sums and an argsort of whole arrays in a GPU's memory (strata/gpu/arrays.h), beside
// what the CPU makes of the same numbers.
//
// Prints "array-blocks: 1000003 numbers summed, added up and sorted as on the CPU" and ends with 0;
// with 77 where there is no GPU, with 1 when anything fails or differs.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "strata/gpu/arrays.h"
#include "strata/gpu/cuda_status.cuh"
#include "strata/gpu/gpu_store.h"
#include "strata/hash.h"
#include "strata/status.h"

namespace {

using strata::FromCuda;
using strata::Result;
using strata::Status;

constexpr size_t kCount = 1'000'003;

// Memory of the GPU for `count` of T, until the program ends.
template <typename T>
Result<T*> OnGpu(size_t count) {
  T* memory = nullptr;
  STRATA_TRY(FromCuda(cudaMalloc(&memory, count * sizeof(T)), "memory"));
  return memory;
}

template <typename T>
Result<std::vector<T>> FromGpu(const T* memory, size_t count) {
  std::vector<T> host(count);
  STRATA_TRY(FromCuda(cudaMemcpy(host.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost),
                      "a copy"));
  return host;
}

Status Run() {
  std::vector<uint64_t> numbers(kCount);
  std::vector<uint32_t> keys(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    numbers[i] = strata::Mix64(i) % 1000;
    keys[i] = static_cast<uint32_t>(strata::Mix64(i) >> 40);  // some are equal
  }
  cudaStream_t stream = nullptr;
  STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
  const strata::Exec exec{.device = strata::DeviceKind::kCuda, .ordinal = 0, .stream = stream};

  STRATA_ASSIGN(uint64_t* const gpu_numbers, OnGpu<uint64_t>(kCount));
  STRATA_ASSIGN(uint64_t* const sum, OnGpu<uint64_t>(1));
  STRATA_ASSIGN(uint64_t* const sums, OnGpu<uint64_t>(kCount));
  STRATA_ASSIGN(
      uint64_t* const scratch,
      OnGpu<uint64_t>(std::max(strata::kReduceScratch, strata::PrefixSumScratch(kCount))));
  STRATA_ASSIGN(uint32_t* const gpu_keys, OnGpu<uint32_t>(kCount));
  STRATA_ASSIGN(uint32_t* const order, OnGpu<uint32_t>(kCount));
  STRATA_TRY(FromCuda(
      cudaMemcpy(gpu_numbers, numbers.data(), kCount * sizeof(uint64_t), cudaMemcpyHostToDevice),
      "a copy"));
  STRATA_TRY(
      FromCuda(cudaMemcpy(gpu_keys, keys.data(), kCount * sizeof(uint32_t), cudaMemcpyHostToDevice),
               "a copy"));

  const std::span<const uint64_t> values(gpu_numbers, kCount);
  strata::ShuffleReduceSumGlobal(exec, values, scratch, sum);
  strata::ShufflePrefixSumGlobal(exec, values, scratch, sums);
  strata::BitonicArgSortGlobal(exec, std::span(gpu_keys, kCount), order, /*ascending=*/true);
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "the GPU"));

  std::vector<uint64_t> expected_sums(kCount);
  std::partial_sum(numbers.begin(), numbers.end(), expected_sums.begin());
  std::vector<uint32_t> expected_order(kCount);
  std::iota(expected_order.begin(), expected_order.end(), 0U);
  std::ranges::stable_sort(expected_order, {}, [&](uint32_t i) { return keys[i]; });
  STRATA_ASSIGN(const auto found_sum, FromGpu(sum, 1));
  STRATA_ASSIGN(const auto found_sums, FromGpu(sums, kCount));
  STRATA_ASSIGN(const auto found_order, FromGpu(order, kCount));
  if (found_sum[0] != expected_sums.back()) return strata::Failed("the sum differs");
  if (found_sums != expected_sums) return strata::Failed("a prefix sum differs");
  if (found_order != expected_order) return strata::Failed("the order differs");
  return {};
}

}  // namespace

int main() {
  if (const Status gpu = strata::CheckGpu(0); !gpu.ok()) {
    std::fprintf(stderr, "array-blocks: %s\n", gpu.ToString().c_str());
    return 77;
  }
  if (const Status status = Run(); !status.ok()) {
    std::fprintf(stderr, "array-blocks: %s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("array-blocks: %d numbers summed, added up and sorted as on the CPU\n",
              static_cast<int>(kCount));
  return 0;
}
