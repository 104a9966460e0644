// Suite "tree-blocks" on a GPU: the building blocks of trees, strata/gpu/arrays.h and
// strata/gpu/bitonic_sort.cuh, beside CUB's.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cub/block/block_radix_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "base/random.h"
#include "bench/harness/figure.h"
#include "bench/harness/gpu_buffer.cuh"
#include "bench/harness/gpu_time.cuh"
#include "bench/suites/gpu_runs.h"
#include "strata/gpu/arrays.h"
#include "strata/gpu/bitonic_sort.cuh"

namespace strata::bench {
namespace {

constexpr Exec kGpu{.device = DeviceKind::kCuda};

// Microseconds of both calls. `bytes`: what the call reads and writes at least.
template <typename Ours, typename Peer>
Result<Figure> Compare(std::string name, const char* peer, double bytes, const Ours& ours,
                       const Peer& theirs) {
  Figure figure{.name = std::move(name), .unit = "us", .more_is_better = false, .peer = peer};
  STRATA_ASSIGN(const double seconds, SecondsOf([&](int) { ours(); }));
  STRATA_ASSIGN(const double peer_seconds, SecondsOf([&](int) { theirs(); }));
  STRATA_ASSIGN(const double bandwidth, CopyBandwidth());
  figure.ours = seconds * 1e6;
  figure.peer_value = peer_seconds * 1e6;
  figure.limit = bytes / bandwidth * 1e6;
  figure.bytes = bytes;
  return figure;
}

template <typename T>
Status Fill(size_t count, uint64_t below, GpuBuffer<T>* buffer) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(Mix64(i) % below);
  STRATA_TRY(buffer->Make(count));
  return buffer->Set(values);
}

// Scratch as CUB asks for it.
template <typename Ask>
Status MakeScratch(const Ask& ask, GpuBuffer<std::byte>* scratch, size_t* bytes) {
  ask(nullptr, *bytes);
  return scratch->Make(*bytes);
}

}  // namespace

Result<std::vector<Figure>> RunReduce(size_t count) {
  GpuBuffer<double> values, scratch, result;
  STRATA_TRY(Fill(count, 1000, &values));
  STRATA_TRY(scratch.Make(kReduceScratch));
  STRATA_TRY(result.Make(1));
  GpuBuffer<std::byte> cub_scratch;
  size_t bytes = 0;
  const auto cub_sum = [&](void* memory, size_t& size) {
    (void)cub::DeviceReduce::Sum(memory, size, values.data(), result.data(), count);
  };
  STRATA_TRY(MakeScratch(cub_sum, &cub_scratch, &bytes));
  STRATA_ASSIGN(
      Figure figure,
      Compare(
          fmt::format("ShuffleReduceSumGlobal {} doubles", count), "cub::DeviceReduce::Sum",
          static_cast<double>(count * sizeof(double)),
          [&] { ShuffleReduceSumGlobal(kGpu, values.span(), scratch.data(), result.data()); },
          [&] { cub_sum(cub_scratch.data(), bytes); }));
  return std::vector<Figure>{std::move(figure)};
}

Result<std::vector<Figure>> RunPrefixSum(size_t count) {
  GpuBuffer<uint32_t> values, scratch, sums;
  STRATA_TRY(Fill(count, 2, &values));
  STRATA_TRY(scratch.Make(PrefixSumScratch(count)));
  STRATA_TRY(sums.Make(count));
  GpuBuffer<std::byte> cub_scratch;
  size_t bytes = 0;
  const auto cub_scan = [&](void* memory, size_t& size) {
    (void)cub::DeviceScan::InclusiveSum(memory, size, values.data(), sums.data(), count);
  };
  STRATA_TRY(MakeScratch(cub_scan, &cub_scratch, &bytes));
  STRATA_ASSIGN(
      Figure figure,
      Compare(
          fmt::format("ShufflePrefixSumGlobal {} uint32", count), "cub::DeviceScan::InclusiveSum",
          static_cast<double>(2 * count * sizeof(uint32_t)),
          [&] { ShufflePrefixSumGlobal(kGpu, values.span(), scratch.data(), sums.data()); },
          [&] { cub_scan(cub_scratch.data(), bytes); }));
  return std::vector<Figure>{std::move(figure)};
}

namespace {

// Each call sorts what the one before has sorted: neither algorithm's steps depend on the keys.
}  // namespace

Result<std::vector<Figure>> RunSort(size_t count) {
  GpuBuffer<float> keys, cub_keys;
  GpuBuffer<uint32_t> order, places, cub_order;
  STRATA_TRY(Fill(count, 1'000'000, &keys));
  STRATA_TRY(cub_keys.Make(count));
  STRATA_TRY(order.Make(count));
  STRATA_TRY(places.Make(count));
  STRATA_TRY(cub_order.Make(count));
  GpuBuffer<std::byte> cub_scratch;
  size_t bytes = 0;
  const auto cub_sort = [&](void* memory, size_t& size) {
    (void)cub::DeviceRadixSort::SortPairs(memory, size, keys.data(), cub_keys.data(), places.data(),
                                          cub_order.data(), count);
  };
  STRATA_TRY(MakeScratch(cub_sort, &cub_scratch, &bytes));
  STRATA_ASSIGN(
      Figure figure,
      Compare(
          fmt::format("BitonicArgSortGlobal {} floats", count), "cub::DeviceRadixSort::SortPairs",
          static_cast<double>(2 * count * 8),
          [&] { BitonicArgSortGlobal(kGpu, std::span(keys.data(), count), order.data(), true); },
          [&] { cub_sort(cub_scratch.data(), bytes); }));
  return std::vector<Figure>{std::move(figure)};
}

namespace {

// Many small sorts, a block each: categories of a feature by their ratio.
constexpr unsigned kSortThreads = 256;
constexpr unsigned kSorts = 4096;

__global__ void __launch_bounds__(kSortThreads) SortSmall(const double* keys, uint32_t* order) {
  __shared__ double mine[kSortThreads];
  __shared__ uint32_t sorted[kSortThreads];
  const size_t begin = size_t{blockIdx.x} * kSortThreads;
  mine[threadIdx.x] = keys[begin + threadIdx.x];
  __syncthreads();
  BitonicArgSort<true>(mine, sorted, kSortThreads);
  order[begin + threadIdx.x] = sorted[threadIdx.x];
}

__global__ void __launch_bounds__(kSortThreads)
    SortSmallByCub(const double* keys, uint32_t* order) {
  using BlockSort = cub::BlockRadixSort<double, kSortThreads, 1, uint32_t>;
  __shared__ typename BlockSort::TempStorage storage;
  const size_t begin = size_t{blockIdx.x} * kSortThreads;
  double key[1] = {keys[begin + threadIdx.x]};
  uint32_t place[1] = {threadIdx.x};
  BlockSort(storage).Sort(key, place);
  order[begin + threadIdx.x] = place[0];
}

}  // namespace

Result<std::vector<Figure>> RunSmallSorts() {
  constexpr size_t kCount = size_t{kSorts} * kSortThreads;
  GpuBuffer<double> keys;
  GpuBuffer<uint32_t> order;
  STRATA_TRY(Fill(kCount, 1'000'000, &keys));
  STRATA_TRY(order.Make(kCount));
  STRATA_ASSIGN(Figure figure,
                Compare(
                    fmt::format("BitonicArgSort in {} blocks of {} doubles", kSorts, kSortThreads),
                    "cub::BlockRadixSort", static_cast<double>(kCount * 12),
                    [&] { SortSmall<<<kSorts, kSortThreads>>>(keys.data(), order.data()); },
                    [&] { SortSmallByCub<<<kSorts, kSortThreads>>>(keys.data(), order.data()); }));
  return std::vector<Figure>{std::move(figure)};
}

}  // namespace strata::bench
