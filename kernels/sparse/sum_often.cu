#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/elements.cuh"
#include "kernels/sparse/gradient_rows.cuh"
#include "kernels/sparse/parts.cuh"
#include "kernels/sparse/sum_often.cuh"

namespace strata {
namespace {

// A key that comes often would keep one team busy while all others are done: the rows of its
// gradients stream through shared memory, slice by slice, and one thread an element adds them up in
// order.
constexpr uint32_t kSlice = 32;  // elements
constexpr uint32_t kTileRows = 64;
constexpr uint32_t kTileElements = kTileRows * kSlice;
constexpr uint32_t kTiles = 8;  // in flight
constexpr uint32_t kOftenThreads = 256;
// How many tiles before its rows a tile's positions are asked for. They come with the rows of an
// earlier tile, and are there when that one has left those in flight; rows are found a tile before
// they are copied.
constexpr uint32_t kTilesAhead = kTiles + 1;
constexpr uint32_t kPositions = 16 * kTileRows;  // that there is room for
static_assert((kTilesAhead + kTiles - 1) * kTileRows <= kPositions);

// The slices in flight, in shared memory: elements as they came, and scales of their rows.
template <typename Rows>
struct Tiles {
  using Element = typename Rows::Element;
  static constexpr size_t kBytes =
      kTiles * (kTileElements * sizeof(Element) + (Rows::kScaled ? kTileRows * sizeof(float) : 0));
  float* shared;

  __device__ Element* ElementsOf(uint32_t tile) const {
    return reinterpret_cast<Element*>(shared) + tile % kTiles * kTileElements;
  }
  __device__ float* ScalesOf(uint32_t tile) const {
    return reinterpret_cast<float*>(ElementsOf(0) + kTiles * kTileElements) +
           tile % kTiles * kTileRows;
  }
};

// Brings a slice of a key's gradients to shared memory, a tile of rows after the other.
// kWide: elements of a copy, 4 where rows are aligned for it, else 1.
template <typename Rows, uint32_t kWide>
class Fetcher {
 public:
  using Element = typename Rows::Element;

  // `positions` are shared by the block, kPositions of them. By all of its threads.
  __device__ Fetcher(const Rows& gradients, const Tiles<Rows>& tiles, uint32_t* positions,
                     const uint32_t* order, uint32_t rows, uint32_t first, uint32_t dim)
      : gradients_(gradients),
        tiles_(tiles),
        positions_(positions),
        all_rows_(rows),
        rows_(first + OwnElement() < dim ? rows : 0),
        order_(order),
        first_(first) {
    for (uint32_t row = threadIdx.x; row < min(rows, kTilesAhead * kTileRows);
         row += kOftenThreads) {
      positions_[row] = order[row];
    }
    __syncthreads();
    FindRows();
  }

  // The next tile. What is behind the last row stays as it is.
  __device__ void Next() {
    Element* to = tiles_.ElementsOf(tile_) + OwnRow() * kSlice + OwnElement();
#pragma unroll
    for (uint32_t k = 0; k < kCopies; ++k) {
      const uint32_t row = OwnRow() + k * kRows;
      if (tile_ * kTileRows + row >= rows_) break;
      Copy(to + k * kRows * kSlice, found_[k].elements + first_ + OwnElement());
      if (Rows::kScaled && OwnElement() == 0) tiles_.ScalesOf(tile_)[row] = found_[k].scale;
    }
    const uint32_t ahead = (tile_ + kTilesAhead) * kTileRows + threadIdx.x;
    if (threadIdx.x < kTileRows && ahead < all_rows_) {
      __pipeline_memcpy_async(positions_ + ahead % kPositions, order_ + ahead, sizeof(uint32_t));
    }
    __pipeline_commit();
    ++tile_;
    FindRows();
  }

 private:
  static constexpr uint32_t kLanes = kSlice / kWide;         // of a row
  static constexpr uint32_t kRows = kOftenThreads / kLanes;  // at once
  static constexpr uint32_t kCopies = kTileRows / kRows;     // of a thread and tile
  static __device__ uint32_t OwnElement() { return threadIdx.x % kLanes * kWide; }
  static __device__ uint32_t OwnRow() { return threadIdx.x / kLanes; }

  static __device__ void Copy(Element* to, const Element* from) {
    if constexpr (kWide * sizeof(Element) >= 4) {
      __pipeline_memcpy_async(to, from, kWide * sizeof(Element));
    } else {
      *to = *from;
    }
  }

  // Bags are asked for a tile ahead.
  __device__ void FindRows() {
#pragma unroll
    for (uint32_t k = 0; k < kCopies; ++k) {
      const uint32_t row = tile_ * kTileRows + OwnRow() + k * kRows;
      if (row < rows_) found_[k] = gradients_.Of(positions_[row % kPositions]);
    }
  }

  const Rows gradients_;
  const Tiles<Rows> tiles_;
  uint32_t* const positions_;
  const uint32_t all_rows_;
  const uint32_t rows_;  // that have elements for this thread
  const uint32_t* const order_;
  const uint32_t first_;
  uint32_t tile_ = 0;
  ScaledRow<Element> found_[kCopies];
};

// kRuns false: a key's gradients are one run.
template <typename Rows, uint32_t kWide, bool kRuns>
__global__ void __launch_bounds__(kOftenThreads)
    SumSlices(const __grid_constant__ TableGroup group, DistinctKeys keys, BatchGradients gradients,
              std::span<const uint32_t> run_ends, uint32_t slices, float* scratch) {
  extern __shared__ __align__(16) float shared[];
  __shared__ uint32_t positions[kPositions];
  __shared__ uint32_t taken;
  const Tiles<Rows> tiles{shared};
  const uint32_t most = keys.often_counts[0];
  const uint32_t items = (most + keys.often_counts[1]) * slices;
  for (uint32_t item = blockIdx.x; item < items; item = gridDim.x + taken) {
    const uint32_t number = item / slices;
    const uint32_t j =
        number < most ? keys.often[number] : keys.often[group.keys - 1 - (number - most)];
    const uint32_t begin = keys.starts[j];
    const uint32_t rows = keys.starts[j + 1] - begin;
    const uint32_t* order = keys.order + begin;
    const GroupTable& table = group.OfKey(order[0]);
    const uint32_t first = item % slices * kSlice;
    if (first < table.map.dim) {
      Fetcher<Rows, kWide> fetcher(Rows(table, gradients), tiles, positions, order, rows, first,
                                   table.map.dim);
      for (uint32_t tile = 0; tile < kTiles - 1; ++tile) fetcher.Next();
      __syncthreads();  // all have read the positions whose room is taken next
      float sum = 0;
      uint32_t run = 0;  // where it begins
      const auto end_of_run = [&] { return kRuns ? RunEnd(run_ends, order, run, rows) : rows; };
      uint32_t run_end = threadIdx.x < kSlice ? end_of_run() : 0;
      for (uint32_t tile = 0; tile * kTileRows < rows; ++tile) {
        fetcher.Next();
        __pipeline_wait_prior(kTiles - 1);
        __syncthreads();
        if (threadIdx.x < kSlice) {
          const typename Rows::Element* from = tiles.ElementsOf(tile) + threadIdx.x;
          const float* scales = tiles.ScalesOf(tile);
          const auto gradient = [&](uint32_t row) {
            const float element = Widened(from[row * kSlice]);
            return Rows::kScaled ? scales[row] * element : element;
          };
          const uint32_t before = tile * kTileRows;
          const uint32_t here = min(kTileRows, rows - before);
          for (uint32_t r = 0; r < here;) {
            if (before + r == run) sum = gradient(r++);  // and not 0 + it, which makes +0 of -0
            const uint32_t until = min(here, run_end - before);
#pragma unroll 16
            for (; r < until; ++r) sum += gradient(r);
            if (before + r != run_end) break;
            if (run_end - run > kOften && first + threadIdx.x < table.map.dim) {
              OftenSum(scratch, group, begin + run)[first + threadIdx.x] = sum;
            }
            run = run_end;
            if (run != rows) run_end = end_of_run();
          }
        }
        __syncthreads();
      }
      __pipeline_wait_prior(0);
    }
    __syncthreads();  // all have read the one before: not every item has a tile to wait for
    if (threadIdx.x == 0) taken = atomicAdd(reinterpret_cast<uint32_t*>(scratch), 1U);
    __syncthreads();
  }
}

}  // namespace

void SumOften(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
              const BatchGradients& gradients, std::span<const uint32_t> run_ends, bool aligned,
              uint32_t processors, float* scratch) {
  const auto stream = StreamOf(exec);
  (void)cudaMemsetAsync(scratch, 0, sizeof(uint32_t), stream);
  const uint32_t slices = (group.dim_max + kSlice - 1) / kSlice;
  WithRows(gradients, [&](auto kind) {
    using Rows = typename decltype(kind)::type;
    constexpr size_t kBytes = Tiles<Rows>::kBytes;
    const auto run = [&](const auto& sum) {
      (void)cudaFuncSetAttribute(sum, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
      sum<<<3 * processors, kOftenThreads, kBytes, stream>>>(group, distinct, gradients, run_ends,
                                                             slices, scratch);
    };
    if (run_ends.empty()) {
      run(aligned ? SumSlices<Rows, 4, false> : SumSlices<Rows, 1, false>);
    } else {
      run(aligned ? SumSlices<Rows, 4, true> : SumSlices<Rows, 1, true>);
    }
  });
}

}  // namespace strata
