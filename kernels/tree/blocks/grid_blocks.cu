#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/core/cuda_stream.cuh"
#include "strata/gpu/arrays.h"
#include "strata/gpu/bitonic_sort.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata {
namespace {

constexpr unsigned kReduceThreads = 512;
constexpr size_t kReduceItems = 4;  // of a thread, before another block is worth it

constexpr unsigned kPrefixThreads = 512;
constexpr unsigned kPrefixItems = 8;  // of a thread
constexpr size_t kPrefixTile = size_t{kPrefixThreads} * kPrefixItems;

constexpr unsigned kSortThreads = 512;
constexpr size_t kSortTile = 2048;  // keys that a block sorts in shared memory

template <typename T, typename Op>
__global__ void __launch_bounds__(kReduceThreads)
    ReduceParts(const T* values, size_t count, T identity, Op op, T* parts) {
  __shared__ T of_warp[kBlockWarpsMax];
  T value = identity;
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    value = op(value, values[i]);
  }
  value = BlockShuffleReduce(value, identity, op, of_warp);
  if (threadIdx.x == 0) parts[blockIdx.x] = value;
}

template <typename T, typename Op>
void Reduce(const Exec& exec, std::span<const T> values, T identity, const Op& op, T* parts,
            T* result) {
  const auto blocks = static_cast<unsigned>(
      std::clamp<size_t>(values.size() / (kReduceItems * kReduceThreads), 1, kReduceScratch));
  const cudaStream_t stream = StreamOf(exec);
  ReduceParts<T, Op>
      <<<blocks, kReduceThreads, 0, stream>>>(values.data(), values.size(), identity, op, parts);
  ReduceParts<T, Op><<<1, kReduceThreads, 0, stream>>>(parts, size_t{blocks}, identity, op, result);
}

template <typename T>
__global__ void __launch_bounds__(kPrefixThreads)
    SumTiles(const T* values, size_t count, T* of_tile) {
  __shared__ T of_warp[kBlockWarpsMax];
  const size_t begin = blockIdx.x * kPrefixTile;
  T sum{};
  for (unsigned i = 0; i < kPrefixItems; ++i) {
    const size_t at = begin + i * kPrefixThreads + threadIdx.x;
    if (at < count) sum = sum + values[at];
  }
  sum = ShuffleReduceSum(sum, of_warp);
  if (threadIdx.x == 0) of_tile[blockIdx.x] = sum;
}

// One block: of_tile[i] becomes the sum of those before it.
template <typename T>
__global__ void __launch_bounds__(kPrefixThreads) SumBeforeTiles(T* of_tile, size_t tiles) {
  __shared__ T of_warp[kBlockWarpsMax];
  T before{};
  for (size_t begin = 0; begin < tiles; begin += kPrefixThreads) {
    const size_t at = begin + threadIdx.x;
    const T own = at < tiles ? of_tile[at] : T{};
    T total{};
    const T until = ShufflePrefixSum(own, of_warp, &total);
    if (at < tiles) of_tile[at] = before + until - own;
    before = before + total;
  }
}

template <typename T>
__global__ void __launch_bounds__(kPrefixThreads)
    PrefixSumTiles(const T* values, size_t count, const T* before_tile, T* sums) {
  __shared__ T of_warp[kBlockWarpsMax];
  __shared__ T staged[kPrefixTile];
  const size_t begin = blockIdx.x * kPrefixTile;
  // Through shared memory: threads add up neighbours, but lines are read whole.
  for (unsigned i = threadIdx.x; i < kPrefixTile; i += kPrefixThreads) {
    staged[i] = begin + i < count ? values[begin + i] : T{};
  }
  __syncthreads();
  T own[kPrefixItems];
  T sum{};
  for (unsigned i = 0; i < kPrefixItems; ++i) {
    sum = sum + staged[threadIdx.x * kPrefixItems + i];
    own[i] = sum;
  }
  T total{};
  const T before = before_tile[blockIdx.x] + ShufflePrefixSum(sum, of_warp, &total) - sum;
  for (unsigned i = 0; i < kPrefixItems; ++i) {
    staged[threadIdx.x * kPrefixItems + i] = before + own[i];
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kPrefixTile; i += kPrefixThreads) {
    if (begin + i < count) sums[begin + i] = staged[i];
  }
}

// Keys with their places, which move together.
template <typename Key>
struct PlacedKeys {
  Key* keys;
  uint32_t* places;

  // Puts the pair in order.
  template <bool kAscending>
  __device__ void Compare(const BitonicPair& pair) const {
    const Key a = keys[pair.low];
    const Key b = keys[pair.high];
    const uint32_t a_place = places[pair.low];
    const uint32_t b_place = places[pair.high];
    if (ComesFirst<kAscending>(a, a_place, b, b_place)) return;
    keys[pair.low] = b;
    keys[pair.high] = a;
    places[pair.low] = b_place;
    places[pair.high] = a_place;
  }
};

// Sorts each tile from the beginning (sorted == 0), or does the steps of a merge to `sorted` that
// stay within a tile.
template <bool kAscending, typename Key>
__global__ void __launch_bounds__(kSortThreads)
    SortTiles(PlacedKeys<Key> all, size_t count, size_t sorted) {
  __shared__ Key keys[kSortTile];
  __shared__ uint32_t places[kSortTile];
  const PlacedKeys<Key> tile{keys, places};
  const size_t begin = blockIdx.x * kSortTile;
  const size_t mine = count - begin < kSortTile ? count - begin : kSortTile;
  for (size_t i = threadIdx.x; i < mine; i += kSortThreads) {
    keys[i] = all.keys[begin + i];
    places[i] = sorted == 0 ? static_cast<uint32_t>(begin + i) : all.places[begin + i];
  }
  __syncthreads();
  const auto step = [&](size_t width, bool mirror) {
    for (size_t number = threadIdx.x; number < kSortTile / 2; number += kSortThreads) {
      const BitonicPair pair(number, width, mirror);
      if (pair.high < mine) tile.template Compare<kAscending>(pair);
    }
    __syncthreads();
  };
  if (sorted == 0) {
    for (size_t merged = 2; merged <= kSortTile; merged *= 2) {
      for (size_t width = merged; width > 1; width /= 2) step(width, width == merged);
    }
  } else {
    for (size_t width = kSortTile; width > 1; width /= 2) step(width, false);
  }
  for (size_t i = threadIdx.x; i < mine; i += kSortThreads) {
    all.keys[begin + i] = keys[i];
    all.places[begin + i] = places[i];
  }
}

// One step of a merge whose pairs are farther apart than a tile.
template <bool kAscending, typename Key>
__global__ void __launch_bounds__(kSortThreads)
    MergeStep(PlacedKeys<Key> all, size_t count, size_t width, bool mirror) {
  const size_t number = size_t{blockIdx.x} * kSortThreads + threadIdx.x;
  const BitonicPair pair(number, width, mirror);
  if (pair.high < count) all.template Compare<kAscending>(pair);
}

template <bool kAscending, typename Key>
void Sort(const PlacedKeys<Key>& all, size_t count, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>((count + kSortTile - 1) / kSortTile);
  SortTiles<kAscending, Key><<<tiles, kSortThreads, 0, stream>>>(all, count, size_t{0});
  const size_t padded = std::bit_ceil(count);
  const auto pairs = static_cast<unsigned>(padded / 2 / kSortThreads);
  for (size_t sorted = 2 * kSortTile; sorted <= padded; sorted *= 2) {
    for (size_t width = sorted; width > kSortTile; width /= 2) {
      MergeStep<kAscending, Key>
          <<<pairs, kSortThreads, 0, stream>>>(all, count, width, width == sorted);
    }
    SortTiles<kAscending, Key><<<tiles, kSortThreads, 0, stream>>>(all, count, sorted);
  }
}

}  // namespace

template <typename T>
void ShuffleReduceSumGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* result) {
  Reduce(exec, values, T{}, PlusOf{}, scratch, result);
}
template <typename T>
void ShuffleReduceMinGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* result) {
  Reduce(exec, values, std::numeric_limits<T>::max(), LeastOf{}, scratch, result);
}
template <typename T>
void ShuffleReduceMaxGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* result) {
  Reduce(exec, values, std::numeric_limits<T>::lowest(), LargestOf{}, scratch, result);
}

size_t PrefixSumScratch(size_t count) { return (count + kPrefixTile - 1) / kPrefixTile; }

template <typename T>
void ShufflePrefixSumGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* sums) {
  const size_t tiles = PrefixSumScratch(values.size());
  if (tiles == 0) return;
  const cudaStream_t stream = StreamOf(exec);
  const auto blocks = static_cast<unsigned>(tiles);
  SumTiles<T><<<blocks, kPrefixThreads, 0, stream>>>(values.data(), values.size(), scratch);
  SumBeforeTiles<T><<<1, kPrefixThreads, 0, stream>>>(scratch, tiles);
  PrefixSumTiles<T>
      <<<blocks, kPrefixThreads, 0, stream>>>(values.data(), values.size(), scratch, sums);
}

template <typename T>
void BitonicArgSortGlobal(const Exec& exec, std::span<T> keys, uint32_t* order, bool ascending) {
  if (keys.empty()) return;
  const PlacedKeys<T> all{keys.data(), order};
  if (ascending) return Sort<true>(all, keys.size(), StreamOf(exec));
  Sort<false>(all, keys.size(), StreamOf(exec));
}

#define STRATA_INSTANTIATE(T)                                                    \
  template void ShuffleReduceSumGlobal(const Exec&, std::span<const T>, T*, T*); \
  template void ShuffleReduceMinGlobal(const Exec&, std::span<const T>, T*, T*); \
  template void ShuffleReduceMaxGlobal(const Exec&, std::span<const T>, T*, T*);
STRATA_INSTANTIATE(double)
STRATA_INSTANTIATE(float)
STRATA_INSTANTIATE(int32_t)
STRATA_INSTANTIATE(int64_t)
STRATA_INSTANTIATE(uint64_t)
#undef STRATA_INSTANTIATE

template void ShufflePrefixSumGlobal(const Exec&, std::span<const uint32_t>, uint32_t*, uint32_t*);
template void ShufflePrefixSumGlobal(const Exec&, std::span<const uint64_t>, uint64_t*, uint64_t*);

template void BitonicArgSortGlobal(const Exec&, std::span<float>, uint32_t*, bool);
template void BitonicArgSortGlobal(const Exec&, std::span<double>, uint32_t*, bool);
template void BitonicArgSortGlobal(const Exec&, std::span<int32_t>, uint32_t*, bool);
template void BitonicArgSortGlobal(const Exec&, std::span<uint32_t>, uint32_t*, bool);

}  // namespace strata
