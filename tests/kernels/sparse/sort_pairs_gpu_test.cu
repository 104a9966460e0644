// Pairs sorted by the low bits of their keys, against std::stable_sort.
#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/sparse/sort_pairs.cuh"
#include "tests/storage/gpu/map_user.cuh"

namespace strata {
namespace {

// `keys` by `bits`, with their positions as values.
template <typename Key>
void CheckSort(const std::vector<Key>& keys, int bits) {
  const Key mask = ~Key{0} >> (static_cast<int>(sizeof(Key) * 8) - bits);
  std::vector<uint32_t> positions(keys.size());
  std::iota(positions.begin(), positions.end(), 0U);
  DeviceArray<Key> on_device(keys), other(keys.size());
  DeviceArray<uint32_t> values(positions), other_values(keys.size());
  DeviceArray<std::byte> scratch(SortScratchBytes<Key>(keys.size()));
  scratch.Poison();
  Scratch left({scratch.data(), SortScratchBytes<Key>(keys.size())});
  SortedPairs<Key> pairs{{on_device.data(), other.data()}, {values.data(), other_values.data()}};
  SortPairs(&pairs, keys.size(), bits, &left, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  std::ranges::stable_sort(positions, {}, [&](uint32_t i) { return keys[i] & mask; });
  const auto sorted = pairs.keys.Current() == other.data() ? other.Get() : on_device.Get();
  const auto order =
      pairs.values.Current() == other_values.data() ? other_values.Get() : values.Get();
  ASSERT_EQ(order, positions) << keys.size() << " keys of " << bits << " bits";
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(sorted[i], keys[positions[i]]) << i;
}

template <typename Key>
void CheckSorts(const std::vector<int>& bits) {
  std::mt19937_64 random(sizeof(Key));
  constexpr size_t kTile = size_t{NineBitDigits::kThreads} * NineBitDigits::kItems;
  for (const size_t count : {size_t{1}, size_t{4'864}, size_t{4'865}, kTile - 1, kTile, kTile + 1,
                             3 * kTile, size_t{50'000}}) {
    std::vector<Key> drawn(count), few(count);
    for (size_t i = 0; i < count; ++i) {
      drawn[i] = static_cast<Key>(random());
      few[i] = random() % 4 == 0 ? drawn[i] : Key{77};  // most are equal
    }
    for (const int by : bits) {
      CheckSort(drawn, by);
      CheckSort(few, by);
      CheckSort(std::vector<Key>(count, Key{5}), by);
    }
  }
}

TEST(SortPairsOnGpu, IsStable) {
  STRATA_SKIP_BELOW_GPUS(1);
  CheckSorts<uint32_t>({1, 8, 9, 16, 17, 18, 24, 25, 26, 27, 28, 32});
  CheckSorts<uint64_t>({1, 27, 33, 64});
}

TEST(SortPairsOnGpu, NineBitDigitsAreForWhatTheySaveAPassOf) {
  for (const int bits : {9, 17, 18, 25, 26, 27}) EXPECT_TRUE(NineBitDigits::AreFor(4, bits));
  for (const int bits : {1, 8, 10, 16, 19, 24, 28, 32})
    EXPECT_FALSE(NineBitDigits::AreFor(4, bits));
  EXPECT_FALSE(NineBitDigits::AreFor(8, 27));
}

}  // namespace
}  // namespace strata
