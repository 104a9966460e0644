#include <cuda_runtime.h>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/sparse/collect_parts.h"
#include "kernels/sparse/gradient_rows.cuh"
#include "kernels/sparse/parts.cuh"
#include "strata/status.h"

namespace strata {
namespace {

// A thread an owner and table.
__global__ void Mark(const __grid_constant__ TableGroup group, uint32_t owners, Partition partition,
                     uint32_t* ends) {
  const auto i = static_cast<uint32_t>(ThreadNumber());
  if (i >= owners * group.count) return;
  const uint32_t owner = i / group.count;
  const GroupTable& table = group.tables[i % group.count];
  uint32_t begin = 0;
  for (uint32_t before = 0; before < owner; ++before) begin += partition.counts[before];
  // The owner's first position behind the table.
  for (uint32_t end = begin + partition.counts[owner]; begin < end;) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (partition.order[middle] < table.first_key + table.keys) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  ends[i] = begin;
}

struct Ranks {
  uint32_t count;
  RankBatch of[kRanksMax];
};

Ranks RanksOf(std::span<const RankBatch> ranks) {
  STRATA_CHECK(!ranks.empty() && ranks.size() <= kRanksMax);
  Ranks all = {static_cast<uint32_t>(ranks.size()), {}};
  for (uint32_t r = 0; r < all.count; ++r) all.of[r] = ranks[r];
  return all;
}

// A thread a part: rank by rank of table by table.
__global__ void FindParts(const __grid_constant__ TableGroup group,
                          const __grid_constant__ Ranks ranks, uint32_t owner, OwnerBatch batch) {
  const auto part = static_cast<uint32_t>(ThreadNumber());
  if (part >= group.count * ranks.count) return;
  const uint32_t table = part / ranks.count;
  const uint32_t at = owner * group.count + table;  // in a rank's ends
  auto end = static_cast<uint32_t>(group.tables[table].first_key);
  uint32_t first = 0;
  for (uint32_t r = 0; r <= part % ranks.count; ++r) {
    first = at == 0 ? 0 : ranks.of[r].ends[at - 1];
    end += ranks.of[r].ends[at] - first;
  }
  batch.firsts[part] = first;
  batch.part_ends[part] = end;
}

// Where a key of an owner's batch comes from.
struct Source {
  const RankBatch& rank;
  uint32_t at;  // in its partition

  __device__ Source(const Ranks& ranks, uint32_t parts, const OwnerBatch& batch, uint32_t i)
      : Source(ranks, PartOf({batch.part_ends, parts}, i), batch.part_ends, batch.firsts, i) {}

 private:
  __device__ Source(const Ranks& ranks, uint32_t part, const uint32_t* ends, const uint32_t* firsts,
                    uint32_t i)
      : rank(ranks.of[part % ranks.count]),
        at(firsts[part] + i - (part == 0 ? 0 : ends[part - 1])) {}
};

__global__ void CopyKeys(const __grid_constant__ Ranks ranks, uint32_t parts, uint64_t keys,
                         OwnerBatch batch) {
  const uint64_t i = ThreadNumber();
  if (i >= keys) return;
  const Source source(ranks, parts, batch, static_cast<uint32_t>(i));
  batch.keys[i] = source.rank.partition.keys[source.at];
}

__global__ void CopyBags(const __grid_constant__ Ranks ranks, uint32_t parts, uint64_t keys,
                         OwnerBatch batch) {
  const uint64_t i = ThreadNumber();
  if (i >= keys) return;
  const Source source(ranks, parts, batch, static_cast<uint32_t>(i));
  const uint32_t position = source.rank.partition.order[source.at];
  StoreBag(LoadBag(source.rank.gradients.bags + position), batch.bags + i);
}

}  // namespace

void MarkTables(const Exec& exec, const TableGroup& group, uint32_t owners,
                const Partition& partition, uint32_t* ends) {
  STRATA_CHECK(owners >= 1 && owners <= kOwnersMax);
  if (group.count == 0) return;
  Mark<<<BlocksFor(uint64_t{owners} * group.count), kMapThreads, 0, StreamOf(exec)>>>(
      group, owners, partition, ends);
}

void CollectKeys(const Exec& exec, std::span<const RankBatch> ranks, uint32_t owner,
                 const TableGroup& group, const OwnerBatch& batch) {
  if (group.keys == 0) return;
  const auto stream = StreamOf(exec);
  const Ranks all = RanksOf(ranks);
  const uint32_t parts = group.count * all.count;
  FindParts<<<BlocksFor(parts), kMapThreads, 0, stream>>>(group, all, owner, batch);
  CopyKeys<<<BlocksFor(group.keys), kMapThreads, 0, stream>>>(all, parts, group.keys, batch);
}

BatchGradients CollectBags(const Exec& exec, std::span<const RankBatch> ranks,
                           const TableGroup& group, const OwnerBatch& batch) {
  const Ranks all = RanksOf(ranks);
  const uint32_t parts = group.count * all.count;
  BatchGradients result = ranks[0].gradients;
  result.bags = batch.bags;
  result.part_ends = {batch.part_ends, parts};
  for (const RankBatch& rank : ranks) {
    STRATA_CHECK(rank.gradients.bag_type == result.bag_type);
    result.bags_aligned = result.bags_aligned && rank.gradients.bags_aligned;
  }
  if (group.keys == 0) return result;
  CopyBags<<<BlocksFor(group.keys), kMapThreads, 0, StreamOf(exec)>>>(all, parts, group.keys,
                                                                      batch);
  return result;
}

}  // namespace strata
