#include <cuda_runtime.h>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/row_device.cuh"
#include "kernels/sparse/misses.h"

namespace strata {
namespace {

__global__ void Count(const __grid_constant__ TableGroup group, DistinctKeys distinct,
                      Misses* of_tables) {
  __shared__ Misses of_block[kGroupTablesMax];
  const uint32_t count = *distinct.missing_count;
  if (uint64_t{blockIdx.x} * blockDim.x >= count) return;
  for (uint32_t t = threadIdx.x; t < group.count; t += blockDim.x) of_block[t] = Misses();
  __syncthreads();
  const uint64_t m = ThreadNumber();
  if (m < count) {
    const uint32_t j = distinct.missing[m];
    Misses& misses = of_block[&group.OfKey(distinct.lasts[j]) - group.tables];
    atomicAdd(&misses.keys, 1);
    atomicAdd(&misses.positions, distinct.starts[j + 1] - distinct.starts[j]);
  }
  __syncthreads();
  for (uint32_t t = threadIdx.x; t < group.count; t += blockDim.x) {
    if (of_block[t].keys == 0) continue;
    atomicAdd(&of_tables[t].keys, of_block[t].keys);
    atomicAdd(&of_tables[t].positions, of_block[t].positions);
  }
}

__global__ void List(const __grid_constant__ TableGroup group, DistinctKeys distinct,
                     ListedKeys out) {
  const uint64_t j = ThreadNumber();
  if (j >= *distinct.count) return;
  const GroupTable& table = group.OfKey(distinct.lasts[j]);
  ListedKeys::Counts& counts = out.counts[&table - group.tables];
  const uint64_t place = distinct.places[j];
  if (place != kNowhere) {
    out.places[table.first_key + atomicAdd(&counts.places, 1)] = place;
  } else {
    out.keys[table.first_key + atomicAdd(&counts.keys, 1)] = distinct.keys[j];
  }
}

__global__ void Locate(const __grid_constant__ TableGroup group, DistinctKeys distinct) {
  const uint64_t j = ThreadNumber();
  const uint32_t count = *distinct.count;
  if (j - Lane() >= count) return;
  bool missing = false;
  if (j < count) {
    const uint64_t place = FindPlace(group.OfKey(distinct.lasts[j]).map, distinct.keys[j]);
    distinct.places[j] = place;
    missing = place == kNowhere;
  }
  const uint32_t at = PlaceInList(missing, distinct.missing_count);
  if (missing) distinct.missing[at] = static_cast<uint32_t>(j);
}

}  // namespace

void CountMisses(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
                 Misses* of_tables) {
  const auto stream = StreamOf(exec);
  (void)cudaMemsetAsync(of_tables, 0, group.count * sizeof(Misses), stream);
  if (group.keys == 0) return;
  Count<<<BlocksFor(group.keys), kMapThreads, 0, stream>>>(group, distinct, of_tables);
}

void ListByTable(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
                 const ListedKeys& out) {
  const auto stream = StreamOf(exec);
  (void)cudaMemsetAsync(out.counts, 0, group.count * sizeof(ListedKeys::Counts), stream);
  if (group.keys == 0) return;
  List<<<BlocksFor(group.keys), kMapThreads, 0, stream>>>(group, distinct, out);
}

void LocateAgain(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct) {
  const auto stream = StreamOf(exec);
  (void)cudaMemsetAsync(distinct.missing_count, 0, sizeof *distinct.missing_count, stream);
  if (group.keys == 0) return;
  Locate<<<BlocksFor(group.keys), kMapThreads, 0, stream>>>(group, distinct);
}

}  // namespace strata
