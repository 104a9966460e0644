// Training on tables whose rows are spread over the GPUs of one host, by key: what an owner of rows
// takes of the batches of all GPUs. A GPU is a rank with samples of its own, an owner of the rows
// of some shards, or both. Whoever computes reads the others' memory by itself; nothing is sent.
//
// CombineBatch and UpdateRows then make of an owner's rows, to the bit, what one GPU with all rows
// would that is given for each table the keys of rank 0, those of rank 1, ..., each rank a part.
//
// A step. All groups have the same tables in the same order, those without keys too. Calls for a
// GPU are on its stream, with its number in exec.ordinal and as the calling thread's device. "After
// X of all" is an event that each of them records behind X, and for which this stream waits. The
// host enqueues X for all of them first: an event that was never recorded is not waited for.
//
//   1. on each rank, after 5 of all owners in the step before, who read what is overwritten now,
//      with a TableGroup of its own batch (of its maps only dimension and types count):
//        PartitionByOwner(exec, keys, owner_of_shard, owners, rank.partition, scratch);
//        MarkTables(exec, group, owners, rank.partition, rank.ends);
//        rank.ends to the host, which waits for all ranks: the one synchronisation of a step.
//   2. on each owner o, whose table t has n keys, of each rank ends[i] - ends[i - 1] (0 before the
//      first) with i = o * tables + t:
//        DeviceMap::MakeRoom(exec, n) for each table; then a TableGroup of its maps with these n.
//        (Or room is made before 5, after 3 of all ranks, for the keys that are missing alone, and
//        rows are located again where they moved: storage/gpu/spread_group.h.)
//        CollectKeys(exec, ranks, o, group, batch);
//        CombineBatch(exec, group, batch.keys, nullptr, distinct, scratch);
//   3. on each rank, after MakeRoom of all owners, with all owners' MapRefs of now copied to its
//      memory on its stream:
//        PoolRows(exec, tables, type);                      // PooledTable::maps
//   4. on each rank the model, and, with the group of 1:
//        rank.gradients = GradientsOfBags(exec, group, tables, gradients, type, bags);
//   5. on each owner, after 4 of all ranks, whose gradients stay as they are until it is done:
//        UpdateRows(exec, group, optimizer, step, distinct, CollectBags(exec, ranks, group, batch),
//                   scratch);
//
// So no row changes while another GPU reads it: an owner's MakeRoom is behind its update, and that
// behind 3 of all ranks, which comes before their 4.
//
// A rank's arrays and gradients are readable from the owners' GPUs: memory of a DevicePool is,
// memory of cudaMalloc once a thread whose device is the owner's has called
// cudaDeviceEnablePeerAccess(rank's). Calls enqueue kernels, allocate nothing and do not
// synchronise. Keys, of a rank and of an owner, are at most 2^31 - 1.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/sparse/partition.h"
#include "kernels/sparse/table_group.h"
#include "kernels/sparse/update.h"
#include "strata/exec.h"

namespace strata {

constexpr uint32_t kRanksMax = kOwnersMax;

// What a rank brings, in its memory.
struct RankBatch {
  Partition partition;       // of the keys of all its tables
  uint32_t* ends = nullptr;  // owners x tables: where they end in the partition (MarkTables)
  BatchGradients gradients;  // what GradientsOfBags gave; CollectKeys does without
};

// What an owner takes, in its memory: its keys in the order of its group, of a table those of rank
// 0 first. Each part is the keys that a table has of a rank.
struct OwnerBatch {
  uint64_t* keys = nullptr;       // room for all
  BagGradient* bags = nullptr;    // likewise
  uint32_t* part_ends = nullptr;  // tables x ranks
  uint32_t* firsts = nullptr;     // tables x ranks: where parts begin in their ranks' partitions
};

// `group` is the rank's: the tables whose keys were cut. As positions of an owner ascend in the
// partition, so do tables: ends[o * tables + t] is where the keys end that owner o has of table t.
void MarkTables(const Exec& exec, const TableGroup& group, uint32_t owners,
                const Partition& partition, uint32_t* ends);

// `group` is the owner's. At most kRanksMax ranks, of which any may bring nothing. All of `batch`
// but the bags.
void CollectKeys(const Exec& exec, std::span<const RankBatch> ranks, uint32_t owner,
                 const TableGroup& group, const OwnerBatch& batch);

// The bags, after CollectKeys of the same batch. The result points to `batch` and is for
// UpdateRows; bags point to where the ranks' gradients are. They are of one type.
BatchGradients CollectBags(const Exec& exec, std::span<const RankBatch> ranks,
                           const TableGroup& group, const OwnerBatch& batch);

}  // namespace strata
