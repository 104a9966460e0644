// Batches cut by owner on a GPU beside a stable sort by the cluster's map of shards.
#include <algorithm>
#include <random>

#include "kernels/sparse/partition.h"
#include "proto/wire/shard_map.h"
#include "strata/exec.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

static_assert(uint32_t{1} << kOwnerShardBits == wire::kShards);

// Owners of the shards, drawn.
wire::ShardMap Drawn(uint32_t owners) {
  wire::ShardMap map;
  std::mt19937_64 random(owners);
  for (uint16_t& owner : map.owner) owner = static_cast<uint16_t>(random() % owners);
  return map;
}

class PartitionOnGpu : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  static void Check(size_t count, uint32_t owners, const wire::ShardMap& map) {
    SCOPED_TRACE(testing::Message() << count << " keys, " << owners << " owners");
    std::mt19937_64 random(count);
    std::vector<uint64_t> keys(count);
    // Half of them few ones that come again and again.
    for (uint64_t& key : keys) key = random() % 2 == 0 ? random() : random() % 100;
    std::vector<uint32_t> order(count);
    for (uint32_t i = 0; i < count; ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](uint32_t i) { return map.LaneOf(keys[i]); });
    std::vector<uint64_t> in_order;
    std::vector<uint32_t> counts(owners);
    for (const uint32_t i : order) {
      in_order.push_back(keys[i]);
      ++counts[map.LaneOf(keys[i])];
    }

    Stream stream;
    Exec exec;
    exec.device = DeviceKind::kCuda;
    exec.stream = stream.get();
    DeviceArray<uint64_t> on_device(keys);
    DeviceArray<uint16_t> owner_of_shard(std::vector<uint16_t>(map.owner.begin(), map.owner.end()));
    DeviceArray<uint32_t> found_order(count + 1), found_counts(owners + 1);
    DeviceArray<uint64_t> found_keys(count + 1);
    found_order.Poison();
    found_counts.Poison();
    found_keys.Poison();
    const size_t bytes = PartitionScratchBytes(count, owners);
    DeviceArray<std::byte> scratch(bytes);
    scratch.Poison();
    PartitionByOwner(exec, {on_device.data(), count}, owner_of_shard.data(), owners,
                     {found_order.data(), found_keys.data(), found_counts.data()},
                     {scratch.data(), bytes});
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    ExpectSame(found_order.Get(), order);
    ExpectSame(found_keys.Get(), in_order);
    ExpectSame(found_counts.Get(), counts);
  }
};

TEST_F(PartitionOnGpu, KeepsTheOrderOfEachOwnersKeys) {
  for (const uint32_t owners : {1U, 2U, 3U, 8U, 33U, kOwnersMax}) {
    const wire::ShardMap map = Drawn(owners);
    for (const size_t count : {0, 1, 31, 32, 33, 255, 256, 257, 511, 512, 513, 4'097, 100'000}) {
      Check(count, owners, map);
    }
  }
}
TEST_F(PartitionOnGpu, OneOwnerMayHaveAll) {
  wire::ShardMap map;
  map.owner.fill(41);
  for (const size_t count : {1, 257, 5'000}) Check(count, kOwnersMax, map);
}

}  // namespace
}  // namespace strata
