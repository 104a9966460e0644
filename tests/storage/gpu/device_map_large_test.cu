// More rows than 32 bits count. Takes 120 GB of a GPU's memory, and is skipped where there is less.
#include "base/hash.h"
#include "storage/gpu/device_map.h"
#include "strata/gpu/hash_map.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr uint64_t kRows = (uint64_t{1} << 31) + 1;
constexpr uint64_t kBatch = uint64_t{1} << 24;
constexpr size_t kPoolBytes = size_t{118} << 30;

__device__ float ValueOf(uint64_t n) { return static_cast<float>(Mix64(n) >> 40); }

__global__ void Draw(uint64_t first, uint64_t count, uint64_t* keys, float* values) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  keys[i] = (first + i) * 0x9e3779b97f4a7c15ULL;
  values[i] = ValueOf(first + i);
}

__global__ void CountWrong(uint64_t first, uint64_t count, const float* values, const bool* found,
                           unsigned long long* wrong) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count && (!found[i] || values[i] != ValueOf(first + i))) atomicAdd(wrong, 1ULL);
}

unsigned Blocks(uint64_t count) { return static_cast<unsigned>((count + 255) / 256); }

TEST(DeviceMapLarge, MoreRowsThan32BitsCountAreAllFound) {
  STRATA_SKIP_BELOW_GPUS(1);
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  if (free < kPoolBytes + (size_t{2} << 30)) {
    GTEST_SKIP() << "needs " << (kPoolBytes >> 30) + 2 << " GiB of a GPU, free are "
                 << (free >> 30);
  }
  auto pool = DevicePool::Make(0, kPoolBytes);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  Exec exec;
  exec.device = DeviceKind::kCuda;
  // At the last load that a map takes which cannot grow any more.
  const auto rows_first = static_cast<uint64_t>(static_cast<double>(kRows) / 0.9 * 0.75 * 1.001);
  auto made = DeviceMap::Make(
      exec, **pool,
      {.dim = 1, .state_width = 0, .rows_first = rows_first, .rows_max = kRows, .fixed = false});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  DeviceMap& map = **made;
  EXPECT_GT(map.slots(), kRows);
  DeviceArray<uint64_t> keys(kBatch);
  DeviceArray<float> values(kBatch);
  DeviceArray<char> found(kBatch);
  DeviceArray<uint32_t> positions(kBatch);
  DeviceArray<uint32_t> missed(1);
  DeviceArray<unsigned long long> wrong(std::vector<unsigned long long>{0});
  for (uint64_t first = 0; first < kRows; first += kBatch) {
    const uint64_t count = std::min(kBatch, kRows - first);
    Draw<<<Blocks(count), 256>>>(first, count, keys.data(), values.data());
    const Status room = map.MakeRoom(exec, count);
    ASSERT_TRUE(room.ok()) << room.ToString();
    InsertOrAssign(exec, map.ref(), {keys.data(), count}, values.data(), nullptr, RowStart{},
                   {positions.data(), missed.data()});
  }
  const auto counts = map.Counts(exec);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  EXPECT_EQ(counts->rows, kRows);
  EXPECT_EQ(counts->refused, 0U);
  for (uint64_t first = 0; first < kRows; first += kBatch) {
    const uint64_t count = std::min(kBatch, kRows - first);
    Draw<<<Blocks(count), 256>>>(first, count, keys.data(), values.data());
    values.Poison();
    FindRows(exec, map.ref(), {keys.data(), count}, values.data(),
             reinterpret_cast<bool*>(found.data()));
    CountWrong<<<Blocks(count), 256>>>(first, count, values.data(),
                                       reinterpret_cast<const bool*>(found.data()), wrong.data());
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(wrong.Get()[0], 0U);
}

}  // namespace
}  // namespace strata
