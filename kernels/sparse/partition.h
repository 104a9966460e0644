// A batch of keys on a GPU cut into what each owner gets of it: by shard, as the cluster's map of
// shards says on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "strata/exec.h"
#include "strata/host_device.h"

namespace strata {

constexpr uint32_t kOwnersMax = 64;
// A key's shard is the highest ten bits of Mix64(key), as wire::ShardOf has it.
constexpr uint32_t kOwnerShardBits = 10;
STRATA_HD uint32_t OwnerShardOf(uint64_t key) {
  return static_cast<uint32_t>(Mix64(key) >> (64 - kOwnerShardBits));
}

// Device memory.
struct Partition {
  uint32_t* order = nullptr;   // positions: those of owner 0, then of owner 1, ..., each ascending
  uint64_t* keys = nullptr;    // in that order
  uint32_t* counts = nullptr;  // of keys, by owner
};

// owner_of_shard: 2^kOwnerShardBits numbers below `owners`, which is 1 to kOwnersMax. All spans and
// pointers are device memory. At most 2^31 - 1 keys, which may repeat; `out` has room for all.
// `scratch`: PartitionScratchBytes. The same batch gives the same result. Allocates nothing and
// does not synchronise.
//
// A counting sort in two passes over the keys (D. Knuth, TAOCP 3, 5.2): each warp counts a run of
// them by owner, an exclusive sum makes places of the counts, and the warps go over their runs
// again.
void PartitionByOwner(const Exec& exec, std::span<const uint64_t> keys,
                      const uint16_t* owner_of_shard, uint32_t owners, const Partition& out,
                      std::span<std::byte> scratch);
size_t PartitionScratchBytes(size_t keys, uint32_t owners);

}  // namespace strata
