// A batch's keys by their rows, against a map of lists.
#include <algorithm>
#include <random>
#include <vector>

#include "kernels/sparse/sort_by_row.h"
#include "tests/storage/gpu/map_user.cuh"

namespace strata {
namespace {

void CheckRows(const std::vector<uint32_t>& index, size_t rows) {
  DeviceArray<uint32_t> on_device(index), sorted(index.size()), starts(rows + 1);
  const size_t scratch_bytes = SortByRowScratchBytes(index.size());
  DeviceArray<std::byte> scratch(scratch_bytes);
  scratch.Poison();
  SortByRow({DeviceKind::kCuda, 0, nullptr}, on_device.data(), index.size(), rows, sorted.data(),
            starts.data(), {scratch.data(), scratch_bytes});
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  std::vector<std::vector<uint32_t>> keys_of(rows);
  for (uint32_t key = 0; key < index.size(); ++key) keys_of[index[key]].push_back(key);
  std::vector<uint32_t> expected, expected_starts = {0};
  for (const std::vector<uint32_t>& keys : keys_of) {
    expected.insert(expected.end(), keys.begin(), keys.end());
    expected_starts.push_back(static_cast<uint32_t>(expected.size()));
  }
  EXPECT_EQ(sorted.Get(), expected);
  EXPECT_EQ(starts.Get(), expected_starts);
  EXPECT_EQ(on_device.Get(), index);
}

TEST(SortByRow, KeysOfARowStandTogetherInTheirOrder) {
  STRATA_SKIP_BELOW_GPUS(1);
  std::mt19937 random(1);
  for (const size_t rows : {size_t{1}, size_t{2}, size_t{300}, size_t{9'000}}) {
    for (const size_t more : {size_t{0}, size_t{1}, size_t{20'000}}) {
      std::vector<uint32_t> index(rows + more);
      for (size_t key = 0; key < index.size(); ++key) {  // each row has a key
        index[key] = static_cast<uint32_t>(key < rows ? key : random() % rows);
        if (key >= rows && random() % 2 == 0) index[key] = 0;  // a row with very many
      }
      std::ranges::shuffle(index, random);
      CheckRows(index, rows);
    }
  }
}

}  // namespace
}  // namespace strata
