// Bitonic sorts in a block and beyond, against std::stable_sort.
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <span>

#include "strata/gpu/arrays.h"
#include "strata/gpu/bitonic_sort.cuh"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr unsigned kThreads = 128;

template <bool kAscending, typename Key>
__global__ void SortInBlock(const Key* keys, uint32_t* order, uint32_t count) {
  BitonicArgSort<kAscending>(keys, order, count);
}

template <bool kAscending, typename Key>
std::vector<uint32_t> ExpectedOrder(const std::vector<Key>& keys) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    return kAscending ? keys[a] < keys[b] : keys[b] < keys[a];
  });
  return order;
}

// Of drawn keys, of few different ones, of sorted ones and of equal ones.
template <typename Key>
std::vector<std::vector<Key>> KeysOf(size_t count) {
  std::mt19937_64 random(count);
  std::vector<Key> drawn(count), few(count), descending(count);
  for (size_t i = 0; i < count; ++i) {
    drawn[i] = static_cast<Key>(static_cast<int64_t>(random() % 2'000'001) - 1'000'000);
    few[i] = static_cast<Key>(random() % 3);
    descending[i] = static_cast<Key>(count - i);
  }
  return {drawn, few, descending, std::vector<Key>(count, Key{7})};
}

template <bool kAscending, typename Key>
void CheckInBlock(const std::vector<Key>& keys) {
  DeviceArray<Key> on_device(keys);
  DeviceArray<uint32_t> order(keys.size());
  order.Poison();
  const auto count = static_cast<uint32_t>(keys.size());
  SortInBlock<kAscending, Key><<<1, kThreads>>>(on_device.data(), order.data(), count);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(order.Get(), ExpectedOrder<kAscending>(keys)) << keys.size();
}

template <bool kAscending, typename Key>
void CheckBeyond(const std::vector<Key>& keys) {
  DeviceArray<Key> on_device(keys);
  DeviceArray<uint32_t> order(keys.size());
  order.Poison();
  BitonicArgSortGlobal(Exec{.device = DeviceKind::kCuda}, std::span(on_device.data(), keys.size()),
                       order.data(), kAscending);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<uint32_t> expected = ExpectedOrder<kAscending>(keys);
  EXPECT_EQ(order.Get(), expected) << keys.size();
  const std::vector<Key> sorted = on_device.Get();
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(sorted[i], keys[expected[i]]) << i;
}

TEST(BitonicSortOnGpu, ABlockSortsAnyLength) {
  STRATA_SKIP_BELOW_GPUS(1);
  for (const size_t count : {0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 300, 1024}) {
    for (const auto& keys : KeysOf<double>(count)) {
      CheckInBlock<true>(keys);
      CheckInBlock<false>(keys);
    }
    for (const auto& keys : KeysOf<int32_t>(count)) CheckInBlock<true>(keys);
  }
}

TEST(BitonicSortOnGpu, AGridSortsAnyLength) {
  STRATA_SKIP_BELOW_GPUS(1);
  for (const size_t count : {0, 1, 5, 2047, 2048, 2049, 3 * 2048, 9'999}) {
    for (const auto& keys : KeysOf<float>(count)) {
      CheckBeyond<true>(keys);
      CheckBeyond<false>(keys);
    }
  }
}

}  // namespace
}  // namespace strata
