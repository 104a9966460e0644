#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/sparse/block_parts.cuh"
#include "kernels/sparse/csr.h"
#include "kernels/sparse/exclusive_sum.cuh"
#include "kernels/sparse/warp_bags.cuh"
#include "strata/status.h"

namespace strata {
namespace {

struct SplitPart {
  uint32_t* offsets;
  uint32_t* count;  // of keys
  uint64_t bags;
  uint64_t first_bag;  // of all tables'
  uint32_t first_slot;
  uint32_t slots;
  uint32_t first_block;
};

struct Split {
  SampleBatch batch;
  uint32_t* begins = nullptr;  // by bag of all tables, and one more; null: bag b begins at key b
  uint64_t bags = 0;
  BlockParts<SplitPart, kSplitTablesMax> parts;
  uint32_t slots[kSplitSlotsMax];  // of the tables, one behind the other

  __device__ uint32_t BeginOf(uint64_t bag) const {
    return begins == nullptr ? static_cast<uint32_t>(bag) : begins[bag];
  }
};

// A thread a bag, blocks of one table. Threads behind its last bag are at that one, too.
struct Turn {
  const SplitPart& part;
  bool is_one;
  uint64_t bag;
  uint64_t source;  // the batch's bag

  explicit __device__ Turn(const Split& split) : part(split.parts.OfBlock(blockIdx.x)) {
    const uint64_t number = uint64_t{blockIdx.x - part.first_block} * kMapThreads + threadIdx.x;
    is_one = number < part.bags;
    bag = min(number, part.bags - 1);
    source = bag / part.slots * split.batch.slots + split.slots[part.first_slot + bag % part.slots];
  }
};

__global__ void Measure(const __grid_constant__ Split split) {
  const Turn turn(split);
  if (!turn.is_one) return;
  const uint32_t* offsets = split.batch.offsets + turn.source;
  split.begins[turn.part.first_bag + turn.bag] = offsets[1] - offsets[0];
}

__global__ void Move(const __grid_constant__ Split split, uint64_t* keys) {
  const Turn turn(split);
  if (__ballot_sync(~0U, turn.is_one) == 0) return;
  const SplitPart& part = turn.part;
  const uint32_t begin = split.BeginOf(part.first_bag + turn.bag);
  const uint32_t end = split.BeginOf(part.first_bag + turn.bag + 1);
  const uint32_t table_begin = split.BeginOf(part.first_bag);
  if (turn.is_one) {
    const bool is_last = turn.bag + 1 == part.bags;
    if (part.offsets != nullptr) {
      part.offsets[turn.bag] = begin - table_begin;
      if (is_last) part.offsets[part.bags] = end - table_begin;
    }
    if (is_last) *part.count = end - table_begin;
  }
  const auto source = split.batch.offsets == nullptr ? static_cast<uint32_t>(turn.source)
                                                     : split.batch.offsets[turn.source];
  ForKeysOfBags(begin, end, [&](uint32_t key, bool is_one, int lane) {
    const uint32_t in_bag = key - __shfl_sync(~0U, begin, lane);
    const uint32_t from = __shfl_sync(~0U, source, lane) + in_bag;
    if (is_one) keys[key] = split.batch.keys[from];
  });
}

Split SplitOf(const SampleBatch& batch, std::span<const TableSlots> tables, uint32_t* counts) {
  STRATA_CHECK(tables.size() <= kSplitTablesMax);
  Split split;
  split.batch = batch;
  uint32_t first_slot = 0;
  for (const TableSlots& table : tables) {
    const auto slots = static_cast<uint32_t>(table.slots.size());
    STRATA_CHECK(slots >= 1 && first_slot + slots <= kSplitSlotsMax);
    STRATA_CHECK(std::ranges::max(table.slots) < batch.slots);
    std::ranges::copy(table.slots, split.slots + first_slot);
    const uint64_t bags = batch.samples * slots;
    split.parts.Add({table.offsets, counts++, bags, split.bags, first_slot, slots, 0},
                    BlocksFor(bags));
    first_slot += slots;
    split.bags += bags;
  }
  return split;
}

}  // namespace

size_t SplitScratchBytes(uint64_t bags) {
  return ScratchAligned((bags + 1) * sizeof(uint32_t)) + SumScratchBytes(bags + 1);
}

void SplitByTable(const Exec& exec, const SampleBatch& batch, std::span<const TableSlots> tables,
                  uint64_t* keys, uint32_t* counts, std::span<std::byte> scratch) {
  const auto stream = StreamOf(exec);
  Split split = SplitOf(batch, tables, counts);
  if (split.bags == 0) {
    (void)cudaMemsetAsync(counts, 0, tables.size() * sizeof *counts, stream);
    for (const TableSlots& table : tables) {
      if (table.offsets == nullptr) continue;
      (void)cudaMemsetAsync(table.offsets, 0, sizeof *table.offsets, stream);
    }
    return;
  }
  if (batch.offsets != nullptr) {
    Scratch left(scratch);
    split.begins = left.Take<uint32_t>(split.bags + 1);
    (void)cudaMemsetAsync(split.begins + split.bags, 0, sizeof *split.begins, stream);
    Measure<<<split.parts.blocks, kMapThreads, 0, stream>>>(split);
    SumBefore(split.begins, split.bags + 1, &left, stream);
  }
  Move<<<split.parts.blocks, kMapThreads, 0, stream>>>(split, keys);
}

}  // namespace strata
