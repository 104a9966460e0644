#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/row_device.cuh"
#include "kernels/sparse/block_parts.cuh"
#include "kernels/sparse/elements.cuh"
#include "kernels/sparse/partition.h"
#include "kernels/sparse/pool_rows.h"
#include "strata/status.h"

namespace strata {
namespace {

struct PoolPart {
  PooledTable table;
  uint32_t lanes;   // of a team: one for each four elements, a power of two, 32 at most
  uint32_t pieces;  // of a vector: what a team holds at once
  uint32_t first_block;
};
using PoolParts = BlockParts<PoolPart, kPoolTablesMax>;

template <typename T>
__device__ T* VectorOf(const PooledTable& table, uint64_t bag) {
  return static_cast<T*>(table.out) + table.ElementOf(bag);
}

// Where the row of a key is, or kNowhere: its place in the one map; kSpread, where a table may have
// maps by owner: its address.
template <bool kSpread>
__device__ uint64_t Find(const PooledTable& table, uint64_t key) {
  if constexpr (!kSpread) {
    return FindPlace(table.map, key);
  } else {
    const MapRef& map =
        table.maps == nullptr ? table.map : table.maps[table.owner_of_shard[OwnerShardOf(key)]];
    const uint64_t place = FindPlace(map, key);
    return place == kNowhere ? kNowhere : reinterpret_cast<uint64_t>(map.RowOf(place));
  }
}
template <bool kSpread>
__device__ const float* RowAt(const PooledTable& table, uint64_t found) {
  return kSpread ? reinterpret_cast<const float*>(found) : table.map.RowOf(found);
}

// The four elements from `e` on of the row that was found, or of a missing one.
template <bool kNarrow, bool kSpread>
__device__ Four RowPart(const PooledTable& table, uint64_t found, uint64_t key, uint32_t e) {
  const uint32_t dim = table.map.dim;
  if (found == kNowhere) return InitialFour<kNarrow>(table.map, table.start, key, e);
  const float* row = RowAt<kSpread>(table, found);
  const ElementType type = table.map.value_type;
  if (!kNarrow || type == ElementType::kFp32) {
    return LoadFour<true>(row, e, dim);  // a slot of a map is whole vectors of 16 bytes
  }
  Four four;
#pragma unroll
  for (uint32_t f = 0; f < 4; ++f) {
    if (e + f < dim) four.of[f] = ElementOf<true>(type, row, e + f);
  }
  return four;
}

template <typename T>
__device__ void Write(const PooledTable& table, uint64_t bag, uint32_t keys, Four sum, uint32_t e) {
  const uint32_t dim = table.map.dim;
  if (table.combiner == Combiner::kMean && keys > 1) {
#pragma unroll
    for (float& element : sum.of) element /= static_cast<float>(keys);
  }
  T* to = VectorOf<T>(table, bag) + e;
  if (table.IsInFours()) {
    __stcs(reinterpret_cast<FourOf<T>*>(to), Packed<T>(sum));
    return;
  }
#pragma unroll
  for (uint32_t f = 0; f < 4; ++f) {
    if (e + f < dim) to[f] = Rounded<T>(sum.of[f]);
  }
}

// The rows of the warp's bags of one key each, as they are: so many fours of elements.
template <typename T, bool kNarrow, bool kSpread>
__device__ void CopyBags(const PooledTable& table, uint64_t found, uint64_t bag, uint32_t first,
                         uint32_t fours) {
  const float* row = found == kNowhere ? nullptr : RowAt<kSpread>(table, found);
  auto* to = reinterpret_cast<FourOf<T>*>(VectorOf<T>(table, bag) + first);
  const auto pack = [](const float4& four) {
    return Packed<T>({{four.x, four.y, four.z, four.w}});
  };
  const ElementType type = table.map.value_type;
  if (kNarrow && type != ElementType::kFp32) {
    const auto* from = row == nullptr ? nullptr : reinterpret_cast<const uint2*>(row) + first / 4;
    CopyRows(from, to, fours, [&](const uint2& four) { return pack(WidenedFour(type, four)); });
  } else {
    const auto* from = row == nullptr ? nullptr : reinterpret_cast<const float4*>(row + first);
    CopyRows(from, to, fours, pack);
  }
}

// A lane a bag, and so a warp 32 of them, one behind the other, so that their keys are neighbours
// too. Where each has one key that is a copy. Else the lanes work in teams that have as many bags
// as lanes: each lane searches for one key, then the team walks over the rows, four elements a
// lane, whichever bag they are of.
template <typename T, bool kNarrow, bool kSpread>
__global__ void __launch_bounds__(kMapThreads, 4) Pool(const __grid_constant__ PoolParts all) {
  const PoolPart& part = all.OfBlock(blockIdx.x);
  const PooledTable& table = part.table;
  const uint32_t dim = table.map.dim;
  const uint64_t warp = (uint64_t{blockIdx.x - part.first_block} * kMapThreads + threadIdx.x) / 32;
  const auto piece = static_cast<uint32_t>(warp % part.pieces);
  const uint64_t own_bag = warp / part.pieces * 32 + Lane();
  const bool has_bag = own_bag < table.bags;
  const uint64_t some_bag = has_bag ? own_bag : table.bags - 1;
  const uint32_t own_begin = table.BeginOf(some_bag);
  const uint32_t own_end = table.BeginOf(some_bag + 1);
  const bool is_plain = table.weights == nullptr && table.IsInFours();
  if (is_plain && __all_sync(~0U, own_end - own_begin == 1) != 0) {
    const uint64_t found = has_bag ? Find<kSpread>(table, table.keys[own_begin]) : kNowhere;
    if (__all_sync(~0U, found != kNowhere || !has_bag) != 0) {
      const uint32_t first = piece * 4 * part.lanes;
      const uint32_t fours = min(part.lanes, (dim - first + 3) / 4);
      CopyBags<T, kNarrow, kSpread>(table, found, own_bag, first, fours);
      return;
    }
  }

  const uint32_t lanes = part.lanes;
  const uint32_t lane = threadIdx.x % lanes;
  const auto mask = static_cast<uint32_t>(((uint64_t{1} << lanes) - 1) << (Lane() / lanes * lanes));
  const uint64_t first_bag = own_bag - lane;
  if (first_bag >= table.bags) return;
  const auto from_team = [&](auto value, uint32_t of_lane) {
    return __shfl_sync(mask, value, static_cast<int>(of_lane), static_cast<int>(lanes));
  };
  const auto bags = static_cast<uint32_t>(min(uint64_t{lanes}, table.bags - first_bag));
  const uint32_t e = 4 * (piece * lanes + lane);
  const bool has_elements = e < dim;
  uint32_t begin = from_team(own_begin, 0);
  const uint32_t end = from_team(own_end, bags - 1);
  uint32_t bag = 0;
  uint32_t bag_begin = begin;
  uint32_t bag_end = from_team(own_end, 0);
  Four sum;
  const auto finish_bags_at = [&](uint32_t at) {
    while (bag < bags && bag_end == at) {
      if (has_elements) Write<T>(table, first_bag + bag, bag_end - bag_begin, sum, e);
      sum = Four();
      ++bag;
      bag_begin = at;
      bag_end = from_team(own_end, min(bag, bags - 1));
    }
  };
  finish_bags_at(begin);  // empty ones
  for (; begin < end; begin += lanes) {
    const bool is_one = begin + lane < end;
    const uint64_t key = is_one ? table.keys[begin + lane] : 0;
    const float weight = is_one && table.weights != nullptr ? table.weights[begin + lane] : 1.0F;
    const uint64_t found = is_one ? Find<kSpread>(table, key) : kNowhere;
    const uint32_t here = min(lanes, end - begin);
    constexpr uint32_t kAtOnce = 4;
    for (uint32_t k = 0; k < here; k += kAtOnce) {
      Four rows[kAtOnce];
#pragma unroll
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        const uint64_t of_row = from_team(found, (k + n) % lanes);
        const uint64_t of_key = from_team(key, (k + n) % lanes);
        if (k + n < here && has_elements) {
          rows[n] = RowPart<kNarrow, kSpread>(table, of_row, of_key, e);
        }
      }
#pragma unroll
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        const float w = from_team(weight, (k + n) % lanes);
        if (k + n >= here) break;
#pragma unroll
        for (uint32_t f = 0; f < 4; ++f) {
          sum.of[f] += table.weights == nullptr ? rows[n].of[f] : w * rows[n].of[f];
        }
        finish_bags_at(begin + k + n + 1);
      }
    }
  }
}

}  // namespace

void PoolRows(const Exec& exec, std::span<const PooledTable> tables, PooledType type) {
  STRATA_CHECK(tables.size() <= kPoolTablesMax);
  PoolParts all;
  bool is_narrow = false;
  bool is_spread = false;
  for (const PooledTable& table : tables) {
    if (table.bags == 0) continue;
    is_narrow = is_narrow || table.map.IsNarrow();
    is_spread = is_spread || table.maps != nullptr;
    const uint32_t lanes = std::min(32U, std::bit_ceil((table.map.dim + 3) / 4));
    const uint32_t pieces = (table.map.dim + 4 * lanes - 1) / (4 * lanes);
    all.Add({table, lanes, pieces, 0}, BlocksFor((table.bags + 31) / 32 * pieces * 32));
  }
  if (all.blocks == 0) return;
  const auto stream = StreamOf(exec);
  const auto run = [&](const auto& pool) { pool<<<all.blocks, kMapThreads, 0, stream>>>(all); };
  const auto of_type = [&](auto element) {
    using T = decltype(element);
    WithNarrow(is_narrow, [&](auto narrow) {
      if (is_spread) {
        run(Pool<T, narrow.value, true>);
      } else {
        run(Pool<T, narrow.value, false>);
      }
    });
  };
  switch (type) {
    case PooledType::kFloat32:
      return of_type(float());
    case PooledType::kBFloat16:
      return of_type(__nv_bfloat16());
    case PooledType::kFloat16:
      return of_type(__half());
  }
}

}  // namespace strata
