// Reductions and prefix sums of warps, blocks and grids, against plain loops.
#include <algorithm>
#include <numeric>
#include <random>

#include "strata/gpu/arrays.h"
#include "strata/gpu/shuffle.cuh"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr unsigned kThreads = 160;  // five warps: not all that a block may have

// What each thread of one block is told.
struct Told {
  int64_t warp_sum, warp_prefix, sum, least, largest, prefix, total;
};

__global__ void TellAll(const int64_t* values, Told* told) {
  __shared__ int64_t of_warp[kBlockWarpsMax];
  const int64_t value = values[threadIdx.x];
  Told& mine = told[threadIdx.x];
  mine.warp_sum = ShuffleReduce(value, PlusOf{});
  mine.warp_prefix = ShufflePrefixSum(value);
  mine.sum = ShuffleReduceSum(value, of_warp);
  mine.least = ShuffleReduceMin(value, int64_t{1} << 62, of_warp);
  mine.largest = ShuffleReduceMax(value, -(int64_t{1} << 62), of_warp);
  mine.prefix = ShufflePrefixSum(value, of_warp, &mine.total);
}

TEST(ShuffleOnGpu, AWarpAndABlockAgreeWithLoops) {
  STRATA_SKIP_BELOW_GPUS(1);
  std::mt19937_64 random(1);
  std::vector<int64_t> values(kThreads);
  for (int64_t& value : values) value = static_cast<int64_t>(random() % 2001) - 1500;
  DeviceArray<int64_t> on_device(values);
  DeviceArray<Told> told(kThreads);
  TellAll<<<1, kThreads>>>(on_device.data(), told.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<Told> found = told.Get();
  for (size_t i = 0; i < kThreads; ++i) {
    const auto warp = values.begin() + static_cast<ptrdiff_t>(i / 32 * 32);
    const auto here = values.begin() + static_cast<ptrdiff_t>(i + 1);
    ASSERT_EQ(found[i].warp_sum, std::accumulate(warp, warp + 32, int64_t{0})) << i;
    ASSERT_EQ(found[i].warp_prefix, std::accumulate(warp, here, int64_t{0})) << i;
    ASSERT_EQ(found[i].sum, std::accumulate(values.begin(), values.end(), int64_t{0})) << i;
    ASSERT_EQ(found[i].least, *std::ranges::min_element(values)) << i;
    ASSERT_EQ(found[i].largest, *std::ranges::max_element(values)) << i;
    ASSERT_EQ(found[i].prefix, std::accumulate(values.begin(), here, int64_t{0})) << i;
    ASSERT_EQ(found[i].total, found[i].sum) << i;
  }
}

TEST(ShuffleOnGpu, AGridReducesArraysOfAnyLength) {
  STRATA_SKIP_BELOW_GPUS(1);
  std::mt19937_64 random(2);
  const Exec exec{.device = DeviceKind::kCuda};
  DeviceArray<double> scratch(kReduceScratch), result(1);
  for (const size_t count : {size_t{1}, size_t{31}, size_t{513}, size_t{4096}, size_t{70'001}}) {
    std::vector<double> values(count);  // whole numbers: their sums are exact in any order
    for (double& value : values) value = static_cast<double>(random() % 2001) - 1000;
    DeviceArray<double> on_device(values);
    const std::span<const double> all(on_device.data(), count);
    const auto reduced = [&](auto reduce) {
      scratch.Poison();
      reduce(exec, all, scratch.data(), result.data());
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      return result.Get()[0];
    };
    EXPECT_EQ(reduced(ShuffleReduceSumGlobal<double>),
              std::accumulate(values.begin(), values.end(), 0.0))
        << count;
    EXPECT_EQ(reduced(ShuffleReduceMinGlobal<double>), *std::ranges::min_element(values)) << count;
    EXPECT_EQ(reduced(ShuffleReduceMaxGlobal<double>), *std::ranges::max_element(values)) << count;
  }
}

TEST(ShuffleOnGpu, AGridAddsUpPrefixesInPlaceToo) {
  STRATA_SKIP_BELOW_GPUS(1);
  const Exec exec{.device = DeviceKind::kCuda};
  std::mt19937_64 random(3);
  // The last ones: of several tiles, and of more tiles than the block that adds them up has
  // threads.
  for (const size_t count : {1, 777, 4096, 4097, 50'001, 2'150'000}) {
    std::vector<uint64_t> values(count);
    for (uint64_t& value : values) value = random() % 1000;
    std::vector<uint64_t> expected(count);
    std::partial_sum(values.begin(), values.end(), expected.begin());
    DeviceArray<uint64_t> on_device(values), sums(count), scratch(PrefixSumScratch(count));
    const std::span<const uint64_t> all(on_device.data(), count);
    ShufflePrefixSumGlobal(exec, all, scratch.data(), sums.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(sums.Get(), expected) << count;
    ShufflePrefixSumGlobal(exec, all, scratch.data(), on_device.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(on_device.Get(), expected) << count;
  }
}

}  // namespace
}  // namespace strata
