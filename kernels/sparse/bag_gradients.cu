#include <cuda_runtime.h>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/sparse/bag_gradients.h"
#include "kernels/sparse/block_parts.cuh"
#include "kernels/sparse/gradient_rows.cuh"
#include "kernels/sparse/warp_bags.cuh"
#include "strata/status.h"

namespace strata {
namespace {

struct BagPart {
  PooledTable table;
  const std::byte* gradients;
  uint64_t first_key;
  uint32_t first_block;
};
using BagParts = BlockParts<BagPart, kPoolTablesMax>;

__global__ void FindBags(const __grid_constant__ BagParts all, uint32_t element_bytes,
                         BagGradient* bags) {
  const BagPart& part = all.OfBlock(blockIdx.x);
  const PooledTable& table = part.table;
  const uint64_t bag = uint64_t{blockIdx.x - part.first_block} * kMapThreads + threadIdx.x;
  if (bag - Lane() >= table.bags) return;
  const uint64_t own_bag = min(bag, table.bags - 1);
  const uint32_t own_begin = table.BeginOf(own_bag);
  const uint32_t own_end = table.BeginOf(own_bag + 1);
  const std::byte* own_elements = part.gradients + table.ElementOf(own_bag) * element_bytes;
  ForKeysOfBags(own_begin, own_end, [&](uint32_t key, bool is_one, int lane) {
    const uint32_t keys = __shfl_sync(~0U, own_end - own_begin, lane);
    const auto elements = reinterpret_cast<const void*>(
        __shfl_sync(~0U, reinterpret_cast<uint64_t>(own_elements), lane));
    if (!is_one) return;
    float scale = table.weights == nullptr ? 1.0F : table.weights[key];
    if (table.combiner == Combiner::kMean) scale /= static_cast<float>(keys);
    StoreBag({elements, scale}, bags + part.first_key + key);
  });
}

uint32_t ElementBytes(PooledType type) { return type == PooledType::kFloat32 ? 4 : 2; }

// Whether all gradients of the table begin at a multiple of four elements.
bool BeginInFours(const PooledTable& table, const void* gradients, PooledType type) {
  return table.IsInFours() &&
         reinterpret_cast<uintptr_t>(gradients) % (4 * ElementBytes(type)) == 0;
}

}  // namespace

std::optional<BatchGradients> GradientsOfSlots(std::span<const PooledTable> tables,
                                               std::span<const void* const> gradients,
                                               PooledType type) {
  if (tables.size() != 1 || type == PooledType::kFloat16) return std::nullopt;
  const PooledTable& table = tables[0];
  if (table.bags == 0 || table.offsets != nullptr || table.weights != nullptr) return std::nullopt;
  if (!BeginInFours(table, gradients[0], type)) return std::nullopt;
  BatchGradients result;
  result.of_slots = {gradients[0], table.stride, static_cast<uint32_t>(table.vector_stride),
                     table.slots};
  result.bag_type = type;
  result.bags_aligned = true;
  return result;
}

BatchGradients GradientsOfBags(const Exec& exec, const TableGroup& group,
                               std::span<const PooledTable> tables,
                               std::span<const void* const> gradients, PooledType type,
                               BagGradient* bags) {
  STRATA_CHECK(tables.size() == group.count && gradients.size() == group.count);
  STRATA_CHECK(tables.size() <= kPoolTablesMax);
  const uint32_t element_bytes = ElementBytes(type);
  BagParts all;
  bool aligned = true;
  for (size_t t = 0; t < tables.size(); ++t) {
    const PooledTable& table = tables[t];
    if (table.bags == 0) continue;
    const auto* from = static_cast<const std::byte*>(gradients[t]);
    aligned = aligned && BeginInFours(table, from, type);
    all.Add({table, from, group.tables[t].first_key, 0}, BlocksFor(table.bags));
  }
  if (all.blocks != 0) {
    FindBags<<<all.blocks, kMapThreads, 0, StreamOf(exec)>>>(all, element_bytes, bags);
  }
  BatchGradients result;
  result.bags = bags;
  result.bag_type = type;
  result.bags_aligned = aligned;
  return result;
}

}  // namespace strata
