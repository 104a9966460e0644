#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/status.h"
#include "kernels/core/initializer.h"
#include "kernels/core/math.h"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/optim/rules.h"
#include "kernels/sparse/update.h"

namespace strata {
namespace {

// A key that comes often would keep one team busy while all others are done: the rows of its
// gradients stream through shared memory, slice by slice, and one thread an element adds them up in
// order. As each has more than kOften positions, starts[j] / kOften is a number of its own.
constexpr uint32_t kSlice = 32;  // elements
constexpr uint32_t kTileRows = 64;
constexpr uint32_t kTiles = 8;  // in flight
constexpr uint32_t kOftenThreads = 256;
constexpr size_t kTileBytes = size_t{kTiles} * kTileRows * kSlice * sizeof(float);

__device__ float* OftenSum(float* sums, const TableGroup& group, uint32_t begin) {
  return sums + uint64_t{begin / kOften} * ((group.dim_max + 3) / 4 * 4);
}

// Brings a slice of a key's gradients to shared memory, a tile of rows after the other.
class Fetcher {
 public:
  __device__ Fetcher(const GroupTable& table, const float* values, const uint32_t* order,
                     uint32_t rows, uint32_t first)
      : dim_(table.map.dim),
        floats_(dim_ % 4 == 0 ? 4 : 1),
        lanes_(kSlice / floats_),
        e_(threadIdx.x % lanes_ * floats_),
        row_(threadIdx.x / lanes_),
        rows_(first + e_ < dim_ ? rows : 0),
        order_(order),
        from_(values + table.first_element + first + e_ - table.first_key * dim_) {
    Look();
  }

  // The next tile. What is behind the last row stays as it is.
  __device__ void Next(float* tile) {
    uint32_t positions[kMostRows];
#pragma unroll
    for (uint32_t k = 0; k < kMostRows; ++k) positions[k] = positions_[k];
    const uint32_t begin = tile_ * kTileRows;
    ++tile_;
    Look();
#pragma unroll
    for (uint32_t k = 0; k < kMostRows; ++k) {
      const uint32_t r = row_ + k * (kOftenThreads / lanes_);
      if (r >= kTileRows || begin + r >= rows_) continue;
      const float* from = from_ + uint64_t{positions[k]} * dim_;
      float* to = tile + r * kSlice + e_;
      if (floats_ == 4) {
        __pipeline_memcpy_async(to, from, 16);
      } else {
        __pipeline_memcpy_async(to, from, 4);
      }
    }
    __pipeline_commit();
  }

 private:
  static constexpr uint32_t kMostRows = kTileRows * kSlice / kOftenThreads;  // of a thread

  // Positions are asked for a tile ahead: rows need not wait for them then.
  __device__ void Look() {
#pragma unroll
    for (uint32_t k = 0; k < kMostRows; ++k) {
      const uint32_t r = row_ + k * (kOftenThreads / lanes_);
      const uint32_t row = tile_ * kTileRows + r;
      if (r < kTileRows && row < rows_) positions_[k] = order_[row];
    }
  }

  const uint32_t dim_;
  const uint32_t floats_;  // of a copy
  const uint32_t lanes_;   // of a row
  const uint32_t e_;
  const uint32_t row_;
  const uint32_t rows_;
  const uint32_t* const order_;
  const float* const from_;
  uint32_t tile_ = 0;
  uint32_t positions_[kMostRows] = {};
};

__global__ void __launch_bounds__(kOftenThreads)
    SumOften(const __grid_constant__ TableGroup group, DistinctKeys keys, const float* values,
             uint32_t slices, float* sums) {
  extern __shared__ __align__(16) float tiles[];
  constexpr uint32_t kTileFloats = kTileRows * kSlice;
  const uint32_t items = *keys.often_count * slices;
  for (uint32_t item = blockIdx.x; item < items; item += gridDim.x) {
    const uint32_t j = keys.often[item / slices];
    const uint32_t begin = keys.starts[j];
    const uint32_t rows = keys.starts[j + 1] - begin;
    const uint32_t* order = keys.order + begin;
    const GroupTable& table = group.OfKey(order[0]);
    const uint32_t first = item % slices * kSlice;
    if (first >= table.map.dim) continue;
    Fetcher fetcher(table, values, order, rows, first);
    for (uint32_t tile = 0; tile < kTiles - 1; ++tile) fetcher.Next(tiles + tile * kTileFloats);
    float sum = 0;
    for (uint32_t tile = 0; tile * kTileRows < rows; ++tile) {
      fetcher.Next(tiles + (tile + kTiles - 1) % kTiles * kTileFloats);
      __pipeline_wait_prior(kTiles - 1);
      __syncthreads();
      if (threadIdx.x < kSlice) {
        const float* from = tiles + tile % kTiles * kTileFloats + threadIdx.x;
        const uint32_t here = min(kTileRows, rows - tile * kTileRows);
        uint32_t r = 0;
        if (tile == 0) sum = from[r++ * kSlice];  // and not 0 + it, which makes +0 of -0
#pragma unroll 16
        for (; r < here; ++r) sum += from[r * kSlice];
      }
      __syncthreads();
    }
    if (threadIdx.x < kSlice && first + threadIdx.x < table.map.dim) {
      OftenSum(sums, group, begin)[first + threadIdx.x] = sum;
    }
    __pipeline_wait_prior(0);
  }
}

// Elements of a row that a thread works on at once. Behind the row's end there are none.
struct alignas(16) Four {
  float of[4];
};
__device__ Four LoadFour(const float* row, uint32_t e, uint32_t dim) {
  Four four = {};
  if (dim % 4 == 0) {
    if (e < dim) *reinterpret_cast<float4*>(four.of) = *reinterpret_cast<const float4*>(row + e);
  } else {
#pragma unroll
    for (uint32_t f = 0; f < 4; ++f) {
      if (e + f < dim) four.of[f] = row[e + f];
    }
  }
  return four;
}
__device__ void StoreFour(const Four& four, float* row, uint32_t e, uint32_t dim) {
  if (dim % 4 == 0) {
    if (e < dim) *reinterpret_cast<float4*>(row + e) = *reinterpret_cast<const float4*>(four.of);
  } else {
#pragma unroll
    for (uint32_t f = 0; f < 4; ++f) {
      if (e + f < dim) row[e + f] = four.of[f];
    }
  }
}

// The threads that work on one key: thread `lane` has elements 4 lane to 4 lane + 3, and in further
// steps those 4 `lanes` behind them.
struct Team {
  uint32_t lane;
  uint32_t lanes;  // a power of two
  uint32_t mask;   // of the warp

  __device__ uint32_t Element(uint32_t step) const { return 4 * (step * lanes + lane); }
  template <typename T>
  __device__ T From(T value, uint32_t of_lane) const {
    return __shfl_sync(mask, value, static_cast<int>(of_lane), static_cast<int>(lanes));
  }
};

// A key whose turn comes, on its way from memory.
struct Turn {
  uint32_t begin = 0;
  uint32_t rows = 0;
  uint64_t place = 0;
  uint64_t key = 0;

  __device__ Turn(const DistinctKeys& keys, uint64_t j, uint32_t distinct) {
    if (j >= distinct) return;
    begin = keys.starts[j];
    rows = keys.starts[j + 1] - begin;
    place = keys.places[j];
    key = keys.keys[j];
  }
  // Of the row that the lane's number names.
  __device__ uint32_t Position(const DistinctKeys& keys, uint32_t row) const {
    return row < rows ? keys.order[begin + row] : 0;
  }
};

// sum[step] += the gradients of the turn's rows; `position` is that of the lane's first one.
template <uint32_t kSteps>
__device__ void AddRows(const Team& team, const GroupTable& table, const float* values,
                        const DistinctKeys& keys, const Turn& turn, uint32_t position,
                        Four (&sum)[kSteps]) {
  constexpr uint32_t kAtOnce = kSteps == 1 ? 4 : 1;
  const uint32_t dim = table.map.dim;
  const float* base = values + table.first_element - table.first_key * dim;
  for (uint32_t first = 0; first < turn.rows; first += team.lanes) {
    if (first != 0) position = turn.Position(keys, first + team.lane);
    const uint32_t here = min(team.lanes, turn.rows - first);
    for (uint32_t row = 0; row < here; row += kAtOnce) {
      Four next[kAtOnce][kSteps];
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        const uint64_t of_row = team.From(position, (row + k) % team.lanes);
        if (row + k >= here) continue;
#pragma unroll
        for (uint32_t s = 0; s < kSteps; ++s) {
          next[k][s] = LoadFour(base + of_row * dim, team.Element(s), dim);
        }
      }
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        if (row + k >= here) break;
#pragma unroll
        for (uint32_t s = 0; s < kSteps; ++s) {
#pragma unroll
          for (uint32_t f = 0; f < 4; ++f) {
            // The first is taken as it is: 0 + it would make +0 of -0.
            const bool is_first = first + row + k == 0;
            sum[s].of[f] = is_first ? next[k][s].of[f] : sum[s].of[f] + next[k][s].of[f];
          }
        }
      }
    }
  }
}

__device__ uint32_t PartOf(std::span<const uint32_t> ends, uint32_t position) {
  uint32_t part = 0;
  for (auto end = static_cast<uint32_t>(ends.size()); part < end;) {
    const uint32_t middle = (part + end) / 2;
    if (ends[middle] <= position) {
      part = middle + 1;
    } else {
      end = middle;
    }
  }
  return part;
}

__device__ uint32_t PartsThatBrought(std::span<const uint32_t> ends, const uint32_t* order,
                                     uint32_t rows) {
  uint32_t brought = 1;
  if (ends.size() < 2) return brought;
  uint32_t last = PartOf(ends, order[0]);
  for (uint32_t row = 1; row < rows; ++row) {
    const uint32_t part = PartOf(ends, order[row]);
    if (part != last) ++brought;
    last = part;
  }
  return brought;
}

// Rows that a thread has made, counted once for each table.
class RowsMade {
 public:
  __device__ void Count(const MapRef& map) {
    if (counts_ != map.counts) Tell();
    counts_ = map.counts;
    ++made_;
  }
  __device__ void Tell() {
    if (made_ != 0) atomicAdd(&counts_->rows, made_);
    made_ = 0;
  }

 private:
  MapCounts* counts_ = nullptr;
  unsigned long long made_ = 0;
};

// A team a key, one after the other. What a key needs is asked for while those before it are worked
// on: its number first, then the positions of its gradients.
template <typename Rule, uint32_t kSteps>
__global__ void __launch_bounds__(kMapThreads, kSteps == 1 ? 3 : 1)
    Update(const __grid_constant__ TableGroup group, Rule rule, uint64_t step, DistinctKeys keys,
           BatchGradients gradients, uint32_t lanes, float* often_sums,
           unsigned long long* rejected) {
  const uint32_t teams = gridDim.x * (kMapThreads / lanes);
  const Team team{threadIdx.x % lanes, lanes,
                  static_cast<uint32_t>(((uint64_t{1} << lanes) - 1) << (Lane() / lanes * lanes))};
  const bool leads = team.lane == 0;
  const uint32_t distinct = *keys.count;
  RowsMade made;
  unsigned long long not_finite = 0;
  uint64_t j = (uint64_t{blockIdx.x} * kMapThreads + threadIdx.x) / lanes;
  Turn next(keys, j, distinct);
  Turn second(keys, j + teams, distinct);
  uint32_t next_position = next.Position(keys, team.lane);
  for (; j < distinct; j += teams) {
    const Turn turn = next;
    const uint32_t position = next_position;
    next = second;
    next_position = next.Position(keys, team.lane);
    second = Turn(keys, j + 2 * uint64_t{teams}, distinct);

    const GroupTable& table = group.OfKey(team.From(position, 0));
    const uint32_t dim = table.map.dim;
    const bool is_new = turn.place == kNowhere;
    uint64_t place = turn.place;
    Four w[kSteps];
    Four states[Rule::kStates + 1][kSteps];
#pragma unroll
    for (uint32_t s = 0; s < kSteps; ++s) {
      const uint32_t e = team.Element(s);
      if (is_new) {
#pragma unroll
        for (uint32_t f = 0; f < 4; ++f) {
          w[s].of[f] = InitialElement(table.start.initializer, table.start.seed, turn.key, e + f);
#pragma unroll
          for (uint32_t n = 0; n != Rule::kStates; ++n) states[n][s].of[f] = table.start.state;
        }
      } else {
        const float* value = table.map.ValueOf(place);
        w[s] = LoadFour(value, e, dim);
#pragma unroll
        for (uint32_t n = 0; n != Rule::kStates; ++n) {
          states[n][s] = LoadFour(value + (n + 1) * dim, e, dim);
        }
      }
    }
    Four sum[kSteps] = {};
    if (turn.rows > kOften) {
#pragma unroll
      for (uint32_t s = 0; s < kSteps; ++s) {
        sum[s] = LoadFour(OftenSum(often_sums, group, turn.begin), team.Element(s), dim);
      }
    } else {
      AddRows<kSteps>(team, table, gradients.values, keys, turn, position, sum);
    }
    bool finite = true;
#pragma unroll
    for (uint32_t s = 0; s < kSteps; ++s) {
#pragma unroll
      for (uint32_t f = 0; f < 4; ++f) finite = finite && math::IsFinite(sum[s].of[f]);
    }
    if (__all_sync(team.mask, finite) == 0) {
      if (leads) ++not_finite;
      continue;
    }
    if (is_new) {
      // No key is compared by this kernel: slots may change hands.
      if (leads) place = TakePlace(table.map, turn.key);
      place = team.From(place, 0);
      if (place == kNowhere) {
        if (leads) atomicAdd(&table.map.counts->refused, 1);
        continue;
      }
      if (leads) made.Count(table.map);
    }
    float* value = table.map.ValueOf(place);
#pragma unroll
    for (uint32_t s = 0; s < kSteps; ++s) {
      const uint32_t e = team.Element(s);
#pragma unroll
      for (uint32_t f = 0; f < 4; ++f) {
        const float before = w[s].of[f];
        float state[Rule::kStates + 1];
#pragma unroll
        for (uint32_t n = 0; n != Rule::kStates; ++n) state[n] = states[n][s].of[f];
        rule(sum[s].of[f], w[s].of[f], state, 1);
#pragma unroll
        for (uint32_t n = 0; n != Rule::kStates; ++n) states[n][s].of[f] = state[n];
        // A host keeps the NaN that it is given, a GPU makes one of its own.
        if (before != before) w[s].of[f] = before;
      }
      StoreFour(w[s], value, e, dim);
#pragma unroll
      for (uint32_t n = 0; n != Rule::kStates; ++n) {
        StoreFour(states[n][s], value + (n + 1) * dim, e, dim);
      }
    }
    if (!leads) continue;
    SlotHeader& header = *table.map.HeaderOf(place);
    const uint32_t frequency = is_new ? 0 : header.frequency;
    const uint32_t brought =
        PartsThatBrought(gradients.part_ends, keys.order + turn.begin, turn.rows);
    header = {.key = turn.key,
              .last_step = step,
              .score = step,
              .frequency = frequency + min(brought, UINT32_MAX - frequency),
              .checkpoint_epoch = table.start.checkpoint_epoch};
  }
  made.Tell();
  if (not_finite != 0) atomicAdd(rejected, not_finite);
}

uint32_t Processors(const Exec& exec) {
  int count = 0;
  (void)cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, exec.ordinal);
  return static_cast<uint32_t>(count);
}

}  // namespace

size_t UpdateScratchBytes(size_t keys, uint32_t dim_max) {
  return (keys / kOften + 1) * ((dim_max + 3) / 4 * 4) * sizeof(float);
}

void UpdateRows(const Exec& exec, const TableGroup& group, const OptimizerSpec& optimizer,
                uint64_t step, const DistinctKeys& distinct, const BatchGradients& gradients,
                unsigned long long* rejected, std::span<std::byte> scratch) {
  if (group.keys == 0) return;
  STRATA_CHECK(scratch.size() >= UpdateScratchBytes(group.keys, group.dim_max));
  const auto stream = static_cast<cudaStream_t>(exec.stream);
  auto* often_sums = reinterpret_cast<float*>(scratch.data());
  const uint32_t processors = Processors(exec);
  (void)cudaFuncSetAttribute(SumOften, cudaFuncAttributeMaxDynamicSharedMemorySize, kTileBytes);
  const uint32_t slices = (group.dim_max + kSlice - 1) / kSlice;
  SumOften<<<3 * processors, kOftenThreads, kTileBytes, stream>>>(group, distinct, gradients.values,
                                                                  slices, often_sums);
  const uint32_t lanes = std::min(32U, std::bit_ceil((group.dim_max + 3) / 4));
  const uint64_t blocks = (group.keys * lanes + kMapThreads - 1) / kMapThreads;
  const auto grid = static_cast<uint32_t>(std::min<uint64_t>(blocks, 3 * processors));
  constexpr uint32_t kStepsMost = 1024 / 4 / 32;
  WithRule(optimizer, step, [&](const auto& rule) {
    using Rule = std::remove_cvref_t<decltype(rule)>;
    const auto update = group.dim_max <= 4 * lanes ? Update<Rule, 1> : Update<Rule, kStepsMost>;
    update<<<grid, kMapThreads, 0, stream>>>(group, rule, step, distinct, gradients, lanes,
                                             often_sums, rejected);
  });
}

}  // namespace strata
